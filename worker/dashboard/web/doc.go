// Package web serves the pages of a fleet: the map, the lists, the charts, and their scripts and styles, all
// embedded.
//
// It renders the types of package model, and has package admin do what people confirm. Pages hold
// nothing inline and load nothing from elsewhere, so Policy can be as strict as it
// is. Without scripts, the lists, the charts and a still map remain.
//
// # Why the scripts are its own
//
// uPlot (charts, about 50 kB) and MapLibre GL (maps, about 800 kB) were weighed against the modules of the folder
// static, which have 76 kB together and 24 kB compressed. Both draw on a canvas in the browser alone: a reader without
// scripts, and a screen reader, would get nothing, where package chart writes SVG with a title and a table beside it,
// and the still map is SVG, too. MapLibre also needs WebGL, starts workers from blobs, which Policy forbids, and
// expects tiles or a style from a server, where a fleet may have no way to the Internet; uPlot would take over lines
// and axes, and leave bands of incidents, limits, states and gaps to plugins of ours. What several scripts need is in
// one module each, which the others import: text.js writes numbers and ages, time.js instants in the zone of the
// reader, live.js follows a stream, filter.js is the form of filters, view.js and gestures.js move a map.
//
// The base map is made from Natural Earth data, which is in the public domain; see package earth.
package web
