package tracking

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Hold is a claim as stored on the tracking row. While it is open, other jobs pass over the device. Otherwise jobs
// that overlap would each claim what the last one has nearly done, and none would ever commit. It is a courtesy:
// correctness rests on fences alone.
type Hold struct {
	Claim     string       // claim of the last job; empty once it was given back
	Committed string       // claim of the last commit; if equal to claim, the claim is closed
	Until     tables.Ticks // when the claim may be taken over, by storage's time
	Takeovers int          // open claims that were taken over since the last commit
}

// Open reports whether a job has claimed the row and has neither committed nor given it back.
func (h Hold) Open() bool { return h.Claim != "" && h.Claim != h.Committed }

// unfinished reports whether the last job that claimed the row did not commit, so that it may have left outputs.
func (h Hold) unfinished() bool { return h.Claim == "" || h.Claim != h.Committed }

// Keeps reports whether the row belongs to another job at a moment.
func (h Hold) Keeps(now tables.Ticks) bool {
	return h.Open() && schema.Expected(h.Until, now, LongestHold)
}

// LongestHold bounds how long one claim keeps other jobs away.
const LongestHold = 10 * time.Minute

// Next returns the hold of a claim that is made at a moment. Each time an open claim is taken over without a commit in
// between, the next one holds twice as long, so a slow machine succeeds in the end.
func (h Hold) Next(claim string, at tables.Ticks, length time.Duration) Hold {
	n := Hold{Claim: claim, Takeovers: h.Takeovers}
	if h.Open() {
		n.Takeovers++
	}
	for range n.Takeovers {
		length = min(2*length, LongestHold)
	}
	n.Until = at.Add(length)
	return n
}

func (h Hold) set(e *tables.Entity) {
	e.Set(schema.TrackClaim, tables.String(h.Claim))
	e.Set(schema.TrackClaimUntil, tables.DateTime(h.Until))
	if h.Takeovers > 0 {
		e.Set(schema.TrackTakeovers, tables.Int64(int64(h.Takeovers)))
	}
}

// A Mark on a tracking row says that a message is under way for the device: a chain that continues with a device far
// behind, or a refold. Each link of a chain commits a new ID with its message's, so a message that was put twice finds
// another ID and does nothing: chains cannot multiply. Like a hold it is a courtesy.
type Mark struct {
	ID    string       // ID of the message; empty if there is none
	Until tables.Ticks // then it expires, and whoever finds it puts the message again; zero: it was not put yet
}

func (m Mark) SetChain(e *tables.Entity) { m.set(e, schema.TrackChainMark, schema.TrackChainUntil) }

func (m Mark) SetRefold(e *tables.Entity) {
	m.set(e, schema.TrackRefoldMark, schema.TrackRefoldUntil)
}

// set sets the properties of a mark. A merge removes no property, so a removed mark is written as an empty text and the
// earliest time that storage accepts.
func (m Mark) set(e *tables.Entity, id, until string) {
	e.Set(id, tables.String(m.ID))
	e.Set(until, tables.DateTime(max(m.Until, firstDateTime)))
}

// Waits reports whether the device of a chain waits for its turn: no message was put yet.
func (m Mark) Waits() bool { return m.ID != "" && m.Until == 0 }

// Expected reports whether the message of the mark is under way at a moment, as far as anybody knows.
func (m Mark) Expected(now tables.Ticks) bool {
	return schema.Expected(m.Until, now, schema.LongestMark)
}

// MaxHeld bounds the reason for which a device is held, in bytes.
const MaxHeld = 1 << 10

// A Wait is what a tracking row of retention says of readings that stay, so that a page needs not decide again.
type Wait struct {
	Cause string       // empty: none do
	From  tables.Ticks // those from here on; 0: all do
}

// firstDateTime is the start of 1601, the earliest time that storage accepts. learn.microsoft.com: "Understanding the
// Table service data model", Property types.
const firstDateTime tables.Ticks = 504911232000000000

// timeOf returns the time of a property that setMarks or mark.set has written; zero if it was removed.
func timeOf(f *tables.Fields, name string) tables.Ticks {
	if at := f.Ticks(name); at > firstDateTime {
		return at
	}
	return 0
}
