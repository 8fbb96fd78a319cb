package refold

import (
	"hash/fnv"
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// An age is an age at which rows are counted: once in every period, those that have reached it since the last audit.
type age struct{ old, every tables.Ticks }

// ages returns the ages at which late rows are looked for, before the last time when no living token admits a row of
// that age. Most late rows are late by minutes, and few by more than a day. So each row is counted five times in its
// life, and most late rows are found within two hours.
func ages() [4]age {
	const hour, day = tables.Hour, tables.Day
	return [...]age{{hour, hour}, {3 * hour, 3 * hour}, {12 * hour, 12 * hour}, {2 * day, day}}
}

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
	for _, a := range ages() {
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
