package query

import (
	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/tables"
)

// A Record is one thing of an answer: a reading, a bucket, a device's newest
// values, or a reject. Its zero tells the columns.
type Record interface {
	Columns() []string
	// Lines are its lines in a table or in CSV. A cell is a string, a number, a
	// boolean, a tables.Value, a moment or a second.
	Lines() [][]any
	// Object is what is written as a line of JSON.
	Object() any
}

// A moment is a time to 100 ns, and a second one that has no fraction. In a
// column all have as many digits, which is what readers of CSV expect; zero is none.
type (
	moment tables.Ticks
	second tables.Ticks
)

func (Reading) Columns() []string { return []string{"device", "time", "sensor", "value", "row"} }
func (Bucket) Columns() []string {
	return []string{"device", "time", "sensor", "count", "sum", "min", "max", "first", "last", "mean"}
}
func (Newest) Columns() []string { return []string{"device", "time", "sensor", "value", "doubtful"} }
func (Reject) Columns() []string {
	return []string{"device", "time", "row", "sensor", "value", "reason", "rejected", "pipeline", "number", "total", "reading"}
}

// Lines of a reading are one for each sensor.
func (r Reading) Lines() (lines [][]any) {
	for _, p := range r.Values {
		lines = append(lines, []any{string(r.Device), moment(r.Time), p.Name, p.Value, r.Row})
	}
	return lines
}

// Lines of a bucket are one for each sensor.
func (b Bucket) Lines() (lines [][]any) {
	for _, a := range b.Sensors {
		lines = append(lines, []any{string(b.Device), second(b.Start), a.Sensor, a.Count, a.Sum, a.Min, a.Max, a.First, a.Last, a.Mean()})
	}
	return lines
}

// Lines of newest values are one for each sensor.
func (n Newest) Lines() (lines [][]any) {
	for _, v := range n.Values {
		lines = append(lines, []any{string(n.Device), moment(v.At), v.Sensor, newestValue(v), v.Doubtful})
	}
	return lines
}

func newestValue(v latest.Value) any {
	if v.Is == jobs.State {
		return v.State
	}
	return v.Number
}

// Lines of a reject are one.
func (r Reject) Lines() [][]any {
	return [][]any{{string(r.Device), moment(r.Time), r.Row, r.Sensor, r.Value, r.Reason, second(r.At), string(r.Pipeline), r.Number + 1, r.Total, r.Reading}}
}
