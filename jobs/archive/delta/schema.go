package delta

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A Type is that of a column.
type Type string

// Types of columns.
const (
	Double  Type = "double"
	Long    Type = "long"
	Text    Type = "string"
	Bytes   Type = "binary"
	Boolean Type = "boolean"
	Moment  Type = "timestamp" // to the microsecond
	Date    Type = "date"
)

// A Column is one column of a table.
type Column struct {
	Name     string            `json:"name"`
	Type     Type              `json:"type"`
	Nullable bool              `json:"nullable"`
	Metadata map[string]string `json:"metadata"` // what it holds, in words of its own
}

// SchemaOf returns the text that a Metadata has for columns.
func SchemaOf(columns []Column) (string, error) {
	for i := range columns {
		if columns[i].Metadata == nil {
			columns[i].Metadata = map[string]string{}
		}
	}
	text, err := json.Marshal(struct {
		Type   string   `json:"type"`
		Fields []Column `json:"fields"`
	}{"struct", columns}, json.Deterministic(true))
	return string(text), err
}

// ColumnName returns a name for a column that readers of all kinds accept: letters, digits and underscores of ASCII.
// Spark makes no table with a space, a comma or a bracket in a name, and a dot would have to be quoted in SQL. It may
// be taken: readers compare without regard to case.
func ColumnName(wanted string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, wanted)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	const most = 120
	return name[:min(len(name), most)]
}

// A Range is the least and the greatest value of a column in a file.
type Range struct{ Min, Max string }

// Stats is what a file has. Readers answer count(*) from Rows, and pass over files by the ranges; so these are whole:
// a greatest value that is shortened loses rows in some of them.
type Stats struct {
	Rows   int64
	Ranges map[string]Range // by the names of columns that have a value in each row
}

// String returns the text that an Add has.
func (s Stats) String() string {
	told := struct {
		Rows  int64             `json:"numRecords"`
		Min   map[string]string `json:"minValues"`
		Max   map[string]string `json:"maxValues"`
		Nulls map[string]int64  `json:"nullCount"` // Spark passes over no file by a column that has none here
	}{s.Rows, map[string]string{}, map[string]string{}, map[string]int64{}}
	for name, r := range s.Ranges {
		told.Min[name], told.Max[name], told.Nulls[name] = r.Min, r.Max, 0
	}
	text, err := json.Marshal(told, json.Deterministic(true))
	if err != nil { // a text that is no UTF-8, which no key of storage is
		return fmt.Sprintf(`{"numRecords":%d}`, s.Rows)
	}
	return string(text)
}

// Times returns the range of a column of moments: to the millisecond, below the least and above the greatest.
func Times(least, greatest time.Time) Range {
	const form = "2006-01-02T15:04:05.000Z"
	up := greatest.UTC().Truncate(time.Millisecond)
	if up.Before(greatest) {
		up = up.Add(time.Millisecond)
	}
	return Range{least.UTC().Truncate(time.Millisecond).Format(form), up.Format(form)}
}
