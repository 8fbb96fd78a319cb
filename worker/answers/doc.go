// Package answers declares what the commands of furrow and the routes of /v1 answer, once: each answer is a plain
// struct, and one function makes it from what package query reads. A writer writes rows of it as a table for people,
// as CSV, as JSON lines, as one JSON object, or as an Arrow IPC stream. It holds a few rows at a time.
//
// The fields of a struct say what is written:
//
//	`json:"site,omitempty"`   the member's name in JSON; with omitempty or omitzero it is optional
//	`column:"site"`           the column's name in tables, CSV and Arrow, in the order of the fields
//	`column:"value,text"`     of an any: a column of numbers and one of texts; a table shows both in the first
//	`column:"time,exact"`     of a time: with 100 ns
//	`column:"over_"`          of a struct: its columns, whose names begin like this
//	`people:"-"`              no column of tables
//	`each:"sensor"`           of a map: a line for each key, which is in the column sensor; the maps of a struct that
//	                          have this tag are read beside each other, and the first has all keys. A list has a line
//	                          for each of its elements
//	`behind:"time"`           of a map, too: the column of its keys is behind this one of its values
//
// A row is an object in JSON. An optional value that is zero, a nil pointer and a time that is not set are absent in
// JSON and empty cells, but for booleans. Labels are name=text in a table and JSON in a cell of CSV and Arrow.
//
// Times are in UTC. In JSON they are RFC 3339, with as many digits as they have. In CSV they are RFC 3339 with the
// same number of digits in all cells of a column: seven after the second where they are exact, and else none. A table
// has them without T and Z. In Arrow they are in microseconds.
package answers
