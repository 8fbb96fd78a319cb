// Package records writes the answers of commands as a table, as CSV or as lines of JSON,
// one record after the other as they come.
package records

import "furrow/tables"

// A Record is one thing of an answer, such as a reading or a device. Its zero value
// knows the columns.
type Record interface {
	Columns() []string
	// Lines are its lines in a table or in CSV. A cell is a string, a number, a
	// boolean, a tables.Value, a Moment or a Second.
	Lines() [][]any
	// Object is what is written as a line of JSON.
	Object() any
}

// A Moment is a time to 100 ns, and a Second one without a fraction. All times of a
// column have as many digits, which is what readers of CSV expect; zero is no time.
type (
	Moment tables.Ticks
	Second tables.Ticks
)
