package schema

import (
	"fmt"
	"maps"
	"time"

	"furrow/tables"
)

// A Spending is a row of the table runs, pipeline!spent and a day: what the runs of a pipeline have done in the slots
// of the day. The scheduler counts them once their figures change no more.
type Spending struct {
	Pipeline   Pipeline
	Day        Day
	From       tables.Ticks     `row:"From,text"`     // slot of the first run that is counted
	Through    tables.Ticks     `row:"Through,text"`  // every run of the day before this slot is counted
	Rows       int64            `row:"Rows,omitzero"` // that were folded
	Operations map[string]int64 // as in WorkerFigures
	ETag       tables.ETag      // of the version that was read; empty if there is none
}

func spendingPartition(p Pipeline) string { return string(p) + Separator + "spent" }

// Spendings returns the range of the rows of a pipeline from a day to another, both inclusive.
func Spendings(p Pipeline, from, to Day) tables.Range {
	return tables.Range{Partitions: tables.Is(spendingPartition(p)),
		Rows: tables.Keys{From: from.String(), To: to.String()}}
}

// MonthEnd returns the end of the month that the day lies in.
func (s Spending) MonthEnd() time.Time {
	day := s.Day.Start().Time()
	return time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}

// Add adds a later day.
func (s *Spending) Add(o Spending) {
	if s.Through == 0 {
		s.Pipeline, s.Day, s.From = o.Pipeline, o.Day, o.From
	}
	s.Through, s.Rows, s.Operations = o.Through, s.Rows+o.Rows, added(maps.Clone(s.Operations), o.Operations)
}

// Entity returns the row of s.
func (s Spending) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: spendingPartition(s.Pipeline), RowKey: s.Day.String()}
	_ = e.Encode(&s) // numbers
	setNamed(&e, operationsPrefix, s.Operations)
	return e
}

// SpendingOf decodes a row of Spendings.
func SpendingOf(p Pipeline, e tables.Entity) (Spending, error) {
	s := Spending{Pipeline: p, ETag: e.ETag}
	f := decode(&e, &s)
	s.Operations = namedOf(f, e, operationsPrefix)
	s.Day = parsed(f, "RowKey", e.RowKey, ParseDay)
	if s.Through < s.From {
		f.Fail("Through", fmt.Errorf("it is before From"))
	}
	return s, f.Err()
}
