package made

import (
	"cmp"
	"slices"

	"furrow/tables"
)

// A Day is what a device has made in a day, in UTC.
type Day struct {
	Start      tables.Ticks
	Readings   int64  // rows that have a number
	ByKey      int64  // those of them that have it in the row key
	Unnumbered int64  // rows without one
	Missing    int64  // numbers that no row of the span has; each counts for the day of the next number that one has
	Repeated   int64  // readings whose number another row has
	Restarts   int64  // boots that began, and numbers in a property that began again
	Wraps      int64  // numbers in a property that passed the greatest one of 16 or 32 bits
	First      uint64 // number of the first reading
	Last       uint64 // number of the last one
	Gaps       []Gap  // the first ones; Missing counts all
	Unsure     bool   // there was too much to follow, so Missing, Repeated and Restarts may be wrong
}

// mostGaps is how many gaps of a day are kept.
const mostGaps = 10

// A Gap is a range of missing numbers.
type Gap struct {
	Boot     string // empty for numbers in a property
	From, To uint64 // the first and the last of them; To is less than From where a counter wrapped
	// After and Before are the times of the rows with the numbers around it. After is zero at the beginning of a boot.
	After, Before tables.Ticks
}

// Made returns how many readings the numbers of the day say were made.
func (d Day) Made() int64 { return d.Readings - d.Repeated + d.Missing }

func (d *Day) count(n uint64) {
	if d.Readings++; d.Readings == 1 {
		d.First = n
	}
	d.Last = n
}

// miss counts a gap within a boot.
func (d *Day) miss(g Gap) {
	d.Missing += int64(g.To - g.From + 1)
	d.keep(g)
}

// keep keeps a gap if it is one of the first.
func (d *Day) keep(g Gap) {
	i, _ := slices.BinarySearchFunc(d.Gaps, g, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.Boot, b.Boot), cmp.Compare(a.From, b.From))
	})
	if i < mostGaps {
		d.Gaps = slices.Insert(d.Gaps, i, g)
		d.Gaps = d.Gaps[:min(len(d.Gaps), mostGaps)]
	}
}
