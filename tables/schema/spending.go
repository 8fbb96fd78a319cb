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
	From       tables.Ticks     // slot of the first run that is counted
	Through    tables.Ticks     // every run of the day before this slot is counted
	Rows       int64            // that were folded
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
	e.Set("From", tables.String(s.From.String()))
	e.Set("Through", tables.String(s.Through.String()))
	setNonzero(&e, "Rows", tables.Int64(s.Rows))
	setNamed(&e, operationsPrefix, s.Operations)
	return e
}

// SpendingOf decodes a row of Spendings.
func SpendingOf(p Pipeline, e tables.Entity) (Spending, error) {
	f := fieldsOf(&e)
	s := Spending{Pipeline: p, Rows: f.Int("Rows"), Operations: namedOf(f, e, operationsPrefix), ETag: e.ETag}
	var err error
	s.Day, err = ParseDay(e.RowKey)
	f.Fail("RowKey", err)
	s.From, err = tables.ParseTicks(f.String("From"))
	f.Fail("From", err)
	s.Through, err = tables.ParseTicks(f.String("Through"))
	f.Fail("Through", err)
	if err == nil && s.Through < s.From {
		f.Fail("Through", fmt.Errorf("it is before From"))
	}
	return s, f.Err()
}
