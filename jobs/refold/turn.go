package refold

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// An age is an age at which rows are counted: once in every period, those that have reached it since the last audit.
type age struct{ old, every tables.Ticks }

// ages returns the ages at which late rows are looked for, before the last time when no living token admits a row of
// that age. Most late rows are late by minutes, and few by more than a day. So each row is counted five times in its
// life, and most late rows are found within two hours, where no look counts them: see package live.
func ages() []age {
	const hour, day = tables.Hour, tables.Day
	return []age{{hour, hour}, {3 * hour, 3 * hour}, {12 * hour, 12 * hour}, {2 * day, day}}
}

// youngAges is how many of the ages device jobs count themselves, of devices that send rarely: see package live.
const youngAges = 2

// lastAge is how often those rows are counted that no token admits any more.
const lastAge = tables.Day

// TokenGrace is how long after the end of a token its last row may still arrive: expiry is enforced with some slack,
// and a request may be in flight.
const TokenGrace = time.Hour

// A Turn says when the audits of one partition of the fleet are due. Its place within each period follows from
// the partition's name, which spreads audits over the hour and the day.
type Turn struct {
	seed       uint64
	since, run tables.Ticks // audits that became due between these slots
}

// TurnOf returns the turn of a partition between two slots.
func TurnOf(p schema.Pipeline, month schema.Month, since, run tables.Ticks) Turn {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(p) + schema.Separator + month.String())) // a hash takes everything
	return Turn{h.Sum64(), since, run}
}

// spans returns the hours of rows that reached an age in [since, run]. The spans of successive turns meet. If since is
// zero, the spans start with the first row.
func (t Turn) spans() (all []coverage.Window) {
	return t.spansOf(ages())
}

func (t Turn) spansOf(ages []age) (all []coverage.Window) {
	for _, a := range ages {
		if from, to, due := t.periods(a.every); due {
			w := coverage.Window{From: max(from-a.old, 0).Floor(tables.Hour), To: max(to-a.old, 0).Floor(tables.Hour)}
			if t.since == 0 {
				w.From = 0
			}
			all = append(all, w)
		}
	}
	return all
}

// beside returns the spans of a device whose looks count its youngest rows again, about every so often, last at a time.
// The spans leave the young ages out, which the looks count themselves:
//
//	      ├──── counted again by the look ───────────┤
//	          ├─ at 3 h ─┤          ├─ at 1 h ─┤
//	──────────┴──────────┴──────────┴──────────┴────┼──── ≤ every + 1 h ────► run
//	       run - 6 h  run - 3 h  run - 2 h  run - 1 h  look
//
// Where the last look is older, the device may have fallen silent: they have what reached an age since that look, once,
// and then as they have it of any device. Where audits were left out, perhaps nothing ran for hours: they have, too,
// what the audit before has left to looks.
func (t Turn) beside(look tables.Ticks, every time.Duration) []coverage.Window {
	from, to, _ := t.periods(tables.Hour)
	switch {
	case look > t.run+tables.Hour, look <= t.since.Add(-every)-3*tables.Hour:
		return t.spans()
	case to-from > tables.Hour:
		t.since = max(t.since.Add(-every)-2*tables.Hour, 0)
		return t.spans()
	case look <= t.run.Add(-every)-tables.Hour:
		t.since = min(t.since, look)
		return t.spans()
	}
	return t.spansOf(ages()[youngAges:])
}

// MostBetween is how many rows between two spans are counted, too, rather than to ask twice.
const MostBetween = 100

// joined returns the spans in order, joined where they overlap or few rows lie between them.
func joined(spans []coverage.Window, l *tracking.Ledger) (all []coverage.Window) {
	slices.SortFunc(spans, func(a, b coverage.Window) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		if n := len(all); n > 0 && l.Count(all[n-1].To, s.From) <= MostBetween {
			all[n-1].To = max(all[n-1].To, s.To)
			continue
		}
		all = append(all, s)
	}
	return all
}

// last reports whether it is time to count the rows that no token admits any more.
func (t Turn) last() bool {
	_, _, due := t.periods(lastAge)
	return due
}

// Daily reports whether it is time for what is done once a day.
func (t Turn) Daily() bool { return t.last() }

// beyond reports whether it is time to look at devices that rest above their checkpoints.
func (t Turn) beyond() bool {
	_, _, due := t.periods(3 * tables.Hour)
	return due
}

// periods returns the last ends of periods at both slots, and whether one lies between them.
func (t Turn) periods(every tables.Ticks) (from, to tables.Ticks, due bool) {
	offset := tables.Ticks(t.seed % uint64(every))
	end := func(at tables.Ticks) tables.Ticks { return max(at-offset, 0)/every*every + offset }
	from, to = end(t.since), end(t.run)
	return from, to, from < to
}

// Due reports whether there is anything to audit in the partition.
func (t Turn) Due() bool { return len(t.spans()) > 0 || t.last() }
