// Package query reads what a fleet has stored of its devices: readings, rollups,
// newest values and rejects. It reads ranges of keys and looks through no table,
// and it holds a few pages at a time, however long the answer is.
package query
