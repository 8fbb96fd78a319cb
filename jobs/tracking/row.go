// Package tracking has the rows of a partition-tracking table: what a pipeline knows of a device. A Row is read,
// changed in memory, and written in one conditional merge, so that checkpoint, states, counts and coverage change
// together. There is no I/O here.
//
//	folded and counted ───────────────────────────────► Last         not read yet
//	sealed ────────┤ Ledger: rows by hour ───────────────┤
//	Watermark ┤      Coverage: which days are to be made again, from the first on, as far as Stream has not got
package tracking

import (
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Row is a row of the partition-tracking table: how far a pipeline has got with a device, and everything that must
// change together with that. It is read, claimed and committed as one entity.
type Row struct {
	ETag    tables.ETag // empty if there is no row
	Last    string      // LastReadRowKey: rows up to it are folded and counted
	Fence   tables.Ticks
	Hold    Hold
	States  map[string][]byte // by processor
	Open    map[fold.Output]tables.ETag
	Ledger  *Ledger
	Rows    int64 // folded since the beginning
	Rejects int64 // rows with rejected values since the beginning; sets the ring's position

	Format     int64 // newest format of the row or an output of its device
	Generation int64 // newest configuration that committed the row

	Settings string            // Pipeline.Settings of the last fold
	Coverage coverage.Coverage // of the days up to the checkpoint
	Stream   Stream            // progress in making the first stale day again
	Again    map[string][]byte // states of merging processors that are rebuilt, as far as that is; nil removes one
	Rebuilt  bool              // Again has changed since the row was read
	late     int64             // late rows that have been found

	Recounted tables.Ticks // when a device job counted the youngest rows again; zero: none did

	Imported tables.Ticks // ID of the last import that the pipeline knows
	Spans    schema.Spans // of the membership, as the rows are folded or will be when no day is stale
	Left     string       // Last when the device left the fleet; it may have come back
	Uncut    tables.Ticks // an attempt that knew other spans or settings may have left outputs of rows up to here

	Rest  schema.Rest // that the next commit leaves; never that of an earlier one
	Waits Wait        // of retention
	Batch Batch

	Marks

	Was *Row // as storage has it, to tell what has changed; not nil, and without a Was
}

// A Batch is the rows that a job has folded.
type Batch struct {
	Rows int
	Took time.Duration // to read and to fold them
}

// Marks say that other jobs should pass over a device, and why, or who continues with it.
type Marks struct {
	Attempts   int          // failures in a row
	Held       string       // reason of the last one
	HeldUntil  tables.Ticks // it is passed over until then
	Chain      Mark         // of a chain for a device far behind
	RefoldMark Mark         // of the message that works off the stale days
}

// HeldAt reports whether jobs pass over the device at a moment.
func (m Marks) HeldAt(now tables.Ticks) bool {
	return schema.Expected(m.HeldUntil, now, schema.LongestPause)
}

// Remember makes the row's values those that storage has.
func (t *Row) Remember() {
	was := *t
	was.Was, t.Rebuilt = nil, false
	t.Was = &was
}

// Unread returns the row keys that the pipeline has not come to: those after the checkpoint, or from the watermark on.
func (t *Row) Unread() tables.Keys {
	if from := t.Coverage.Watermark.String(); t.Coverage.Watermark > 0 && t.Last < from {
		return tables.Keys{From: from}
	}
	return tables.Keys{After: t.Last}
}

// State returns a processor's state, or nil.
func (t *Row) State(name string) []byte {
	if len(t.States[name]) == 0 {
		return nil
	}
	return t.States[name]
}

// New returns the row of a device that was never folded.
func New() *Row {
	return &Row{States: map[string][]byte{}, Again: map[string][]byte{}, Open: map[fold.Output]tables.ETag{},
		Ledger: &Ledger{}, Was: &Row{}}
}

// A Stream is how far the first stale day was made again: the second checkpoint of a device, which goes through what
// the first one has passed.
type Stream struct {
	Row     string            // last row that is folded; empty at the start of the day
	States  map[string][]byte // of windowed processors, at row
	Counted *Ledger           // rows of row's day
	Rejects Rejects           // of row's day, not in the ring yet: how many of them are late is still unknown
}
