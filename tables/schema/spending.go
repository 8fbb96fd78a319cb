package schema

import (
	"fmt"
	"time"

	"furrow/tables"
)

// A Spending is a row of the table runs, pipeline!spent and the month: what the runs of a pipeline have done in a month
// so far. The scheduler counts them once their figures change no more.
type Spending struct {
	Pipeline   Pipeline
	Month      Month            // without a shard
	From       tables.Ticks     // slot of the first run that is counted
	Through    tables.Ticks     // every run before this slot is counted
	Rows       int64            // that were folded
	Operations map[string]int64 // as in WorkerFigures
	ETag       tables.ETag      // of the version that was read; empty if there is none
}

// SpendingKeys returns the keys of a Spending.
func SpendingKeys(p Pipeline, m Month) (pk, rk string) {
	m.Shard = 0
	return string(p) + Separator + "spent", m.String()
}

// End returns the end of the month.
func (s Spending) End() time.Time {
	return time.Date(s.Month.Year, s.Month.Month+1, 1, 0, 0, 0, 0, time.UTC)
}

// Entity returns the row of s.
func (s Spending) Entity() tables.Entity {
	var e tables.Entity
	e.PartitionKey, e.RowKey = SpendingKeys(s.Pipeline, s.Month)
	e.Set("From", tables.String(s.From.String()))
	e.Set("Through", tables.String(s.Through.String()))
	setNonzero(&e, "Rows", tables.Int64(s.Rows))
	setNamed(&e, operationsPrefix, s.Operations)
	return e
}

// SpendingOf decodes a row of SpendingKeys.
func SpendingOf(p Pipeline, e tables.Entity) (Spending, error) {
	f := fieldsOf(&e)
	s := Spending{Pipeline: p, Rows: f.Int("Rows"), Operations: namedOf(f, e, operationsPrefix), ETag: e.ETag}
	var err error
	s.Month, err = ParseMonth(e.RowKey)
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
