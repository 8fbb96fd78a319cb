package jobs

import (
	"cmp"
	"hash/fnv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An age is one at which rows are counted: those that have reached it since the audit before, once in every period.
type age struct{ old, every tables.Ticks }

// ages are those at which late rows are looked for, before the last time, which is when no living token admits a row of
// that age any more. Most late rows are late by minutes, and few by more than a day: so each row is counted five times
// in its life, and most of those that are missing are found within two hours.
func ages() [4]age {
	return [...]age{{hour, hour}, {3 * hour, 3 * hour}, {12 * hour, 12 * hour}, {2 * day, day}}
}

// lastAge is how often the rows are counted that no token admits any more.
const lastAge = day

// auditPace is how often a run looks whether audits are due.
const auditPace = tables.Ticks(5 * time.Minute / 100)

// tokenGrace is how long after a token has ended its last row may still arrive: an expiry is enforced with some slack,
// and a request may be in flight.
const tokenGrace = time.Hour

// late is how old the row may be that a living token of a device still admits.
func (p *Pipeline) late(m schema.Member) time.Duration {
	if p.Admits != nil {
		if span := p.Admits(m.Enrollment); span > 0 {
			return span + tokenGrace
		}
	}
	return cmp.Or(p.Late, 8*24*time.Hour)
}

// An auditTurn is when the audits of one partition of the fleet are due. Its place within each period follows from the
// partition's name, so that audits are spread over the hour and over the day.
type auditTurn struct {
	seed       uint64
	since, run tables.Ticks // the slots between which audits have become due
}

func (p *Pipeline) auditTurn(m Message, month schema.Month) auditTurn {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(p.Name) + schema.Separator + month.String())) // a hash takes everything
	return auditTurn{h.Sum64(), m.Since, m.Run}
}

// spans are those of [since, run] that have reached an age, by whole hours; the bounds of one turn's and the next one's
// meet. With since zero it is everything.
func (t auditTurn) spans() (all []window) {
	for _, a := range ages() {
		if from, to, due := t.periods(a.every); due {
			w := window{floorTo(max(from-a.old, 0), hour), floorTo(max(to-a.old, 0), hour)}
			if t.since == 0 {
				w.from = 0
			}
			all = append(all, w)
		}
	}
	return all
}

// last tells whether it is time to count what no token admits any more.
func (t auditTurn) last() bool {
	_, _, due := t.periods(lastAge)
	return due
}

// periods are the last ends of periods at both slots, and whether one lies between.
func (t auditTurn) periods(every tables.Ticks) (from, to tables.Ticks, due bool) {
	offset := tables.Ticks(t.seed % uint64(every))
	end := func(at tables.Ticks) tables.Ticks { return max(at-offset, 0)/every*every + offset }
	from, to = end(t.since), end(t.run)
	return from, to, from < to
}

// due tells whether there is anything for an audit of the partition to do.
func (t auditTurn) due() bool { return len(t.spans()) > 0 || t.last() }
