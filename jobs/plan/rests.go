package plan

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// skew is how far storage's clock may be behind what it was in an earlier job: several machines answer for it.
const skew = time.Minute

// rests reports whether a device needs no job in this run: its last commit says so, and nothing has changed since. A
// device without a token rests until it gets one. One whose next row is expected at a time is looked at in the first
// slot after that, and while it is overdue in those slots that a step lies before:
//
//	expected ├─1─┼───2───┼───────4───────┼─ … in cadences, and at most the interval
//	slots    ·   ·   ·   ·   ·   ·   ·   ·
//	look     ▲   ▲       ▲               ▲
//
// Where nobody knows which slot the plan before went to, all that are overdue are looked at.
func (pl *plan) rests(member, track tables.Entity) bool {
	if !pl.Rests {
		return false
	}
	r, stands := schema.RestOf(&track)
	if !stands || track.Get(schema.TrackAttempts).Int() > 0 || track.Get(schema.TrackRefold).Text() != "" {
		return false
	}
	m, err := schema.MemberOf(member)
	if err != nil {
		return false
	}
	settings, every := pl.Stated(m)
	if latest := pl.now.Add(skew); r.Expected > latest.Add(every) ||
		max(tables.TicksBefore(track.Get(schema.TrackCheckpoint).Text()),
			tables.Ticks(track.Get(schema.TrackFence).Int())) > latest {
		return false // a clock was ahead
	}
	if r.Of != m.Fingerprint(settings, pl.Generation, every) || r.Next < max(pl.now, pl.task.Slot).Add(-pl.Settle) {
		return false
	}
	if r.Until != 0 { // it was asleep
		return r.Until == m.Awake && r.Until <= pl.now && !pl.Others(m)
	}
	since := tables.Ticks(0)
	if pl.planned[m.Month] {
		since = pl.task.Before.Add(-pl.Settle)
	}
	return r.Expected != 0 && !looked(r.Expected, since, pl.task.Slot.Add(-pl.Settle), pl.Cadence, every)
}

// looked reports whether a device is looked at in the slot: one of the growing steps from the time when its row is
// expected lies after the slot before, and not after this one.
func looked(expected, before, slot tables.Ticks, cadence, most time.Duration) bool {
	gap, longest := tables.Ticks(max(cadence, time.Second)/100), tables.Ticks(max(most, cadence, time.Second)/100)
	for at := expected; at <= slot; gap = min(2*gap, longest) {
		if at > before {
			return true
		}
		if at += gap; gap == longest && at <= before {
			at += (before - at) / gap * gap
		}
	}
	return false
}

// findPlanned finds out which partitions were planned to their end in the run before: their figures are the last that
// a month job writes.
func (pl *plan) findPlanned(ctx context.Context) error {
	pl.planned = map[schema.Month]bool{}
	if !pl.Rests || pl.task.Before == 0 || pl.task.Extra {
		return nil
	}
	t := pl.task
	q := tables.Query{Range: schema.MonthsBetween(pl.Pipeline, t.Before, t.First, t.Last),
		Select: []string{"PartitionKey", "RowKey"}}
	for e, err := range pl.Client.Table(pl.Names.Runs()).Entities(ctx, q) {
		if err != nil {
			return err
		}
		if f, err := schema.MonthFiguresOf(e); err == nil {
			pl.planned[f.Month] = true
		}
	}
	return nil
}
