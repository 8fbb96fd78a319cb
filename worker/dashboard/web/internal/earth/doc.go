// Package earth has the base map: the Equal Earth projection (Šavrič, Patterson, Jenny 2018) and the outlines of
// land and borders.
//
// The outlines are made from countries-50m.json of the npm package world-atlas
// 2.0.2, which is TopoJSON of Natural Earth 4.1.0 at 1:50m. The names of countries are from there, too; those
// of cities are Natural Earth's populated places at 1:110m, as geopandas 0.14.4 has them (BSD licence). Natural Earth
// is in the public domain; the packaging of world-atlas is by Mike Bostock, under the ISC licence. The
// program that made both from countries-50m.json and naturalearth_cities ran once: git log --full-history -- cut, in
// this folder, finds it.
//
// Natural Earth draws borders as they are in fact, not as they are claimed. The map draws them faintly and makes
// no statement about them.
package earth
