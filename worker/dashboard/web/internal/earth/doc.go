// Package earth is the ground that the map is drawn on: the Equal Earth projection
// (Šavrič, Patterson, Jenny 2018), and the outlines of land and borders.
//
// The outlines are made from countries-50m.json of the npm package world-atlas
// 2.0.2, which is TopoJSON of Natural Earth 4.1.0 at 1:50m. Natural Earth is in
// the public domain; the packaging is by Mike Bostock, under the ISC licence. To
// make them anew, with the network at hand:
//
//	npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
//	go run ./worker/dashboard/web/internal/earth/cut -from package/countries-50m.json
//
// Natural Earth's borders are those in fact, not those claimed; they are drawn
// faintly, and nothing is said by them.
package earth
