package jobs

import (
	"cmp"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A hold is a claim as stored on the tracking row. While it is open, other jobs pass over the device. Otherwise jobs
// that overlap would each claim what the last one has nearly done, and none would ever commit. It is a courtesy:
// correctness rests on fences alone.
type hold struct {
	claim     string       // claim of the last job; empty once it was given back
	committed string       // claim of the last commit; if equal to claim, the claim is closed
	until     tables.Ticks // when the claim may be taken over, by storage's time
	takeovers int          // open claims that were taken over since the last commit
}

// open reports whether a job has claimed the row and has neither committed nor given it back.
func (h hold) open() bool { return h.claim != "" && h.claim != h.committed }

// unfinished reports whether the last job that claimed the row did not commit, so that it may have left outputs.
func (h hold) unfinished() bool { return h.claim == "" || h.claim != h.committed }

// keeps reports whether the row belongs to another job at a moment.
func (h hold) keeps(now tables.Ticks) bool {
	return h.open() && schema.Expected(h.until, now, longestHold)
}

// auditClaim is the prefix of audits' claims.
const auditClaim = "audit-"

// longestHold bounds how long one claim keeps other jobs away.
const longestHold = 10 * time.Minute

// next returns the hold of a claim that is made at a moment. Each time an open claim is taken over without a commit in
// between, the next one holds twice as long, so a slow machine succeeds in the end.
func (h hold) next(claim string, at tables.Ticks, length time.Duration) hold {
	n := hold{claim: claim, takeovers: h.takeovers}
	if h.open() {
		n.takeovers++
	}
	for range n.takeovers {
		length = min(2*length, longestHold)
	}
	n.until = at.Add(length)
	return n
}

func (h hold) set(e *tables.Entity) {
	e.Set(schema.TrackClaim, tables.String(h.claim))
	e.Set(schema.TrackClaimUntil, tables.DateTime(h.until))
	if h.takeovers > 0 {
		e.Set(schema.TrackTakeovers, tables.Int64(int64(h.takeovers)))
	}
}

// defaultHold is also the default lease of a message: a dead worker loses its messages and its claims at about the same
// time.
const defaultHold = 30 * time.Second

func (p *Pipeline) hold() time.Duration { return cmp.Or(p.Hold, defaultHold) }

// A mark on a tracking row says that a message is under way for the device: a chain that continues with a device far
// behind, or a refold. Each link of a chain commits a new ID with its message's, so a message that was put twice finds
// another ID and does nothing: chains cannot multiply. Like a hold it is a courtesy.
type mark struct {
	id    string       // ID of the message; empty if there is none
	until tables.Ticks // then it expires, and whoever finds it puts the message again; zero: it was not put yet
}

func (m mark) setChain(e *tables.Entity) { m.set(e, schema.TrackChainMark, schema.TrackChainUntil) }

func (m mark) setRefold(e *tables.Entity) {
	m.set(e, schema.TrackRefoldMark, schema.TrackRefoldUntil)
}

// set sets the properties of a mark. A merge removes no property, so a removed mark is written as an empty text and the
// earliest time that storage accepts.
func (m mark) set(e *tables.Entity, id, until string) {
	e.Set(id, tables.String(m.id))
	e.Set(until, tables.DateTime(max(m.until, firstDateTime)))
}

// isChanged reports whether a write was refused because the row has another version or is gone.
func isChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
