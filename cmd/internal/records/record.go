// Package records writes records as a table, as CSV or as lines of JSON, as they come.
package records

import "furrow/tables"

// A Record is a part of an answer, such as a reading or a device. Its zero value knows the columns.
type Record interface {
	Columns() []string
	// Lines returns its lines in a table or in CSV. A cell is a string, a number, a
	// boolean, a tables.Value, a Moment or a Second.
	Lines() [][]any
	// Object returns the value for a line of JSON.
	Object() any
}

// A Moment is a time to 100 ns, a Second one without a fraction. All times of a column have the same number of digits,
// as readers of CSV expect. A zero Moment is no time.
type (
	Moment tables.Ticks
	Second tables.Ticks
)
