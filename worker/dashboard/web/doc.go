// Package web is what people see of a fleet: the map, the lists, the charts,
// and the scripts and styles that they need, all embedded.
//
// It renders the types of package model and never reads storage itself. Pages hold
// nothing inline and load nothing from elsewhere, so Policy can be as strict as it
// is; with scripts off, the lists, the charts and a still map remain.
//
// The base map is made of data from Natural Earth, which is in the public domain;
// see earth.
package web
