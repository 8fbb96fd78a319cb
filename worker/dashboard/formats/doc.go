// Package formats writes the rows of a long answer as JSON, JSON lines, CSV or an Arrow IPC stream.
// It holds a few rows at a time, however many there are. In JSON a row is an object; in CSV and Arrow it has a
// line for each of its sensors, so that all answers of a kind have the same columns.
package formats
