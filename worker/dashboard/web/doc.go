// Package web serves the pages of a fleet: the map, the lists, the charts, and their scripts and styles, all
// embedded.
//
// It renders the types of package model, and has package admin do what people confirm. Pages hold
// nothing inline and load nothing from elsewhere, so Policy can be as strict as it
// is. Without scripts, the lists, the charts and a still map remain.
//
// The base map is made from Natural Earth data, which is in the public domain; see package earth.
package web
