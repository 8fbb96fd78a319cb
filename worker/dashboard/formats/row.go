package formats

import "time"

// A Row is what an answer says about one device, reading or bucket.
type Row interface {
	// Object returns the object that stands for the row in JSON.
	Object() any
	// Lines calls line for each line of the row, with a cell for each column. The cells are valid during the call.
	Lines(line func([]Cell))
}

// A Column names the cells at one position of all lines.
type Column struct {
	Name string
	Type Type
}

// A Type is the type of a column.
type Type uint8

// All types.
const (
	Text Type = iota
	Number
	Count
	Time
	Flag
)

// A Cell is a value of a column's type. The zero Cell has none.
type Cell struct {
	has    bool
	text   string
	number float64
	count  int64 // or 1 for a flag that is set
	time   time.Time
}

func TextCell(text string) Cell { return Cell{has: true, text: text} }

// OptionalText returns a cell that has no value for an empty text.
func OptionalText(text string) Cell { return Cell{has: text != "", text: text} }

func NumberCell(n float64) Cell { return Cell{has: true, number: n} }
func CountCell(n int64) Cell    { return Cell{has: true, count: n} }
func TimeCell(t time.Time) Cell { return Cell{has: true, time: t} }
func FlagCell(is bool) (c Cell) {
	if c.has = true; is {
		c.count = 1
	}
	return c
}
