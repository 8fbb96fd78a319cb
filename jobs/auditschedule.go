package jobs

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/tracking"
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

// auditPace is how often runs check whether audits are due.
const auditPace = tables.Ticks(5 * time.Minute / 100)

// ahead is how far in the future a slot may lie. One that lies further is of a clock that was ahead, and prevents
// nothing.
const ahead = 10 * time.Minute

// tokenGrace is how long after the end of a token its last row may still arrive: expiry is enforced with some slack,
// and a request may be in flight.
const tokenGrace = time.Hour

// late returns the age of the oldest row that a living token of a device admits.
func (p *Pipeline) late(m schema.Member) time.Duration {
	if p.Admits != nil {
		if span := p.Admits(m.Enrollment); span > 0 {
			return span + tokenGrace
		}
	}
	return 8 * 24 * time.Hour
}

// An auditTurn says when the audits of one partition of the fleet are due. Its place within each period follows from
// the partition's name, which spreads audits over the hour and the day.
type auditTurn struct {
	seed       uint64
	since, run tables.Ticks // audits that became due between these slots
}

func (p *Pipeline) auditTurn(m Message, month schema.Month) auditTurn {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(p.Name) + schema.Separator + month.String())) // a hash takes everything
	return auditTurn{h.Sum64(), m.Since, m.Run}
}

// spans returns the hours of rows that reached an age in [since, run]. The spans of successive turns meet. If since is
// zero, the spans start with the first row.
func (t auditTurn) spans() (all []tracking.Window) {
	for _, a := range ages() {
		if from, to, due := t.periods(a.every); due {
			w := tracking.Window{From: max(from-a.old, 0).Floor(tables.Hour), To: max(to-a.old, 0).Floor(tables.Hour)}
			if t.since == 0 {
				w.From = 0
			}
			all = append(all, w)
		}
	}
	return all
}

// last reports whether it is time to count the rows that no token admits any more.
func (t auditTurn) last() bool {
	_, _, due := t.periods(lastAge)
	return due
}

// periods returns the last ends of periods at both slots, and whether one lies between them.
func (t auditTurn) periods(every tables.Ticks) (from, to tables.Ticks, due bool) {
	offset := tables.Ticks(t.seed % uint64(every))
	end := func(at tables.Ticks) tables.Ticks { return max(at-offset, 0)/every*every + offset }
	from, to = end(t.since), end(t.run)
	return from, to, from < to
}

// due reports whether there is anything to audit in the partition.
func (t auditTurn) due() bool { return len(t.spans()) > 0 || t.last() }

// NextAudit returns when the next audit is due that counts a row which is in storage now, and so finds it if it was
// late: according to the ages, or when no living token of a device admits rows of that age, which is after admits. A
// run puts the audit within minutes of that.
func (p *Pipeline) NextAudit(month schema.Month, row, now tables.Ticks, admits time.Duration) tables.Ticks {
	seed := p.auditTurn(Message{}, month).seed
	// first returns the first end of a period at or after a moment, unless it is over.
	first := func(every, at tables.Ticks) tables.Ticks {
		at = max(at, now+1)
		offset := tables.Ticks(seed % uint64(every))
		return max(at-offset+every-1, 0)/every*every + offset
	}
	last := row.Floor(tables.Day) + tables.Day + tables.Ticks((admits+tokenGrace)/100)
	next := first(lastAge, last)
	for _, a := range ages() {
		end := first(a.every, row.Floor(tables.Hour)+tables.Hour+a.old)
		if row >= max(end-a.every-a.old, 0).Floor(tables.Hour) { // else the age was reached before
			next = min(next, end)
		}
	}
	return next
}

// auditsDue reports whether a run puts audits, which the first run in every five minutes does, and the slot of the last
// run that did. The answer stays the same, however often a run asks, until a later run has put audits.
func (p *Pipeline) auditsDue(ctx context.Context, slot, now tables.Ticks) (due bool, since tables.Ticks, err error) {
	if slot > now.Add(time.Hour) {
		return false, 0, nil // a slot of next year would prevent audits until then
	}
	for try := range commit.Tries {
		mark, op, err := p.auditMark(ctx, slot, now)
		if err != nil || op.Kind == 0 {
			return mark.Slot == slot && err == nil, mark.Since, err
		}
		_, err = p.runs().Do(ctx, op)
		if err == nil {
			return true, mark.Since, nil
		}
		if !commit.IsChanged(err) {
			return false, 0, err // the next try finds out whether it was written
		}
		if err := commit.Pause(ctx, try); err != nil {
			return false, 0, err
		}
	}
	return false, 0, errors.New("the mark of the last audits changes all the time")
}

// auditMark returns the mark as it should be, and the operation that writes it. There is no operation if audits are not
// due, or if this run or a later one has put them.
func (p *Pipeline) auditMark(ctx context.Context, slot, now tables.Ticks) (next schema.AuditMark, op tables.Op,
	err error) {
	next = schema.AuditMark{Pipeline: p.Name, Slot: slot}
	e, err := next.Entity()
	if err != nil {
		return next, op, err
	}
	found, err := p.runs().Get(ctx, e.PartitionKey, e.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return next, tables.Insert(e), nil
	}
	if err != nil {
		return next, op, err
	}
	last, err := schema.AuditMarkOf(p.Name, found)
	switch {
	case err != nil:
		return next, op, fmt.Errorf("delete the row, and it is created again: %w", err)
	case last.Slot > now.Add(ahead):
		if next.Since = last.Since; next.Since > slot {
			next.Since = slot - tables.Day
		}
	case last.Slot >= slot, last.Slot.Floor(auditPace) == slot.Floor(auditPace):
		return last, op, nil
	default:
		next.Since = last.Slot
	}
	if e, err = next.Entity(); err != nil {
		return next, op, err
	}
	return next, tables.Replace(e, last.ETag), nil
}
