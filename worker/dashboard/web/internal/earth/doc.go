// Package earth has the base map: the Equal Earth projection (Šavrič, Patterson, Jenny 2018) and the outlines of
// land and borders.
//
// The outlines are made from countries-50m.json of the npm package world-atlas
// 2.0.2, which is TopoJSON of Natural Earth 4.1.0 at 1:50m. Natural Earth is in
// the public domain; the packaging is by Mike Bostock, under the ISC licence. To
// make them again:
//
//	npm pack world-atlas@2.0.2 && tar xzf world-atlas-2.0.2.tgz
//	go run ./worker/dashboard/web/internal/earth/cut -from package/countries-50m.json
//
// Natural Earth draws borders as they are in fact, not as they are claimed. The map draws them faintly and makes
// no statement about them.
package earth
