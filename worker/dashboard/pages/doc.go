// Package pages is what people see of a fleet: the map, the lists, the charts,
// and the scripts and styles that they need, all embedded.
//
// It knows nothing of storage and asks for nothing: whoever serves the pages fills
// the structs of this package, which are also the JSON of the API. Pages hold
// nothing inline and load nothing from elsewhere, so Policy can be as strict as it
// is; with scripts off, the lists, the charts and a still map remain.
//
// The base map is made of data from Natural Earth, which is in the public domain;
// see earth.
package pages
