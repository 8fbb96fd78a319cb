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
	late     int64             // late rows that audits have found

	Imported tables.Ticks // ID of the last import that the pipeline knows
	Spans    schema.Spans // of the membership, as the rows are folded or will be when no day is stale
	Uncut    tables.Ticks // an attempt that knew other spans or settings may have left outputs of rows up to here

	Waits Wait // of retention
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

// RowOf reads a row of the tracking table. If the row cannot be read, it still returns what is needed to count the
// failure: version, marks and claim.
func RowOf(e tables.Entity) (*Row, error) {
	if err := schema.CheckFormat(schema.FormatOf(&e)); err != nil {
		return &Row{ETag: e.ETag, Was: &Row{}}, err
	}
	f := e.Fields()
	t := &Row{
		Format: schema.FormatOf(&e),
		ETag:   e.ETag, Last: f.String(schema.TrackCheckpoint), Fence: tables.Ticks(f.Int(schema.TrackFence)),
		Hold: Hold{f.String(schema.TrackClaim), f.String(schema.TrackCommitted), f.Ticks(schema.TrackClaimUntil),
			int(f.Int(schema.TrackTakeovers))},
		Rows: f.Int(schema.TrackRows), Rejects: f.Int(schema.TrackRejects), late: f.Int(schema.TrackLate),
		Generation: f.Int(schema.TrackGeneration), Settings: f.String(schema.TrackSettings),
		Imported: tables.Ticks(f.Int(schema.TrackImported)),
		Marks: Marks{Attempts: int(f.Int(schema.TrackAttempts)), Held: f.String(schema.TrackHeld),
			HeldUntil:  timeOf(f, schema.TrackHeldUntil),
			Chain:      Mark{f.String(schema.TrackChainMark), timeOf(f, schema.TrackChainUntil)},
			RefoldMark: Mark{f.String(schema.TrackRefoldMark), timeOf(f, schema.TrackRefoldUntil)}},
	}
	t.Remember()
	t.Uncut = tables.Ticks(f.Int(schema.TrackUncut))
	t.Waits = Wait{f.String(schema.TrackWaits), tables.Ticks(f.Int(schema.TrackWaitsFrom))}
	t.Batch = Batch{int(f.Int(schema.TrackBatchRows)), time.Duration(f.Int(schema.TrackBatchTook)) * time.Microsecond}
	var err error
	if t.Spans, err = schema.ParseSpans(f.String(schema.TrackSpans)); err != nil {
		return t, err
	}
	if err = t.readCoverage(f); err != nil {
		return t, err
	}
	if err = t.readStream(e); err != nil {
		return t, err
	}
	if t.Ledger, err = ParseLedger(f.Binary(schema.TrackLedger)); err != nil {
		return t, err
	}
	if t.Open, err = parseOpen(f.Binary(schema.TrackOpen)); err != nil {
		return t, err
	}
	if t.States, err = statesOf(&e, schema.TrackStates); err != nil {
		return t, err
	}
	t.Remember()
	if t.Hold.unfinished() {
		t.Uncut = max(t.Uncut, t.Fence)
	}
	return t, f.Err()
}

// Remember makes the row's values those that storage has.
func (t *Row) Remember() {
	was := *t
	was.Was, t.Rebuilt = nil, false
	t.Was = &was
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

// Claimed returns the merge that claims the row. The fence outranks every earlier writer, even those of a row that was
// deleted and created again.
func (t *Row) Claimed(m schema.Member, fence tables.Ticks, h Hold) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackFence, tables.Int64(int64(fence)))
	h.set(&e)
	if t.ETag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.ETag)
}

// Committed returns the merge that moves the checkpoint, on the claim's version. It records the claim's ID to show that
// it was done.
func (t *Row) Committed(m schema.Member, claim string) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackCommitted, tables.String(claim))
	if t.Hold.Takeovers > 0 {
		e.Set(schema.TrackTakeovers, tables.Int64(0))
	}
	e.Set(schema.TrackCheckpoint, tables.String(t.Last))
	e.Set(schema.TrackRows, tables.Int64(t.Rows))
	e.Set(schema.TrackRejects, tables.Int64(t.Rejects))
	e.Set(schema.TrackLedger, tables.Binary(t.Ledger.Append(nil)))
	e.Set(schema.TrackOpen, tables.Binary(appendOpen(nil, t.Open)))
	e.Set(schema.TrackGeneration, tables.Int64(t.Generation))
	e.Set(schema.TrackSettings, tables.String(t.Settings))
	e.Set(schema.TrackLate, tables.Int64(t.late))
	t.SetMarks(&e)
	t.SetCoverage(&e)
	if t.Coverage.Watermark != t.Was.Coverage.Watermark { // of a device that begins
		e.Set(schema.TrackWatermark, tables.Int64(int64(t.Coverage.Watermark)))
	}
	t.setImports(&e)
	t.setSpans(&e)
	t.setWaits(&e)
	t.setBatch(&e)
	SetStates(&e, schema.TrackStates, t.States)
	schema.SetFormat(&e, t.Format)
	return tables.Merge(e, t.ETag)
}

// timeOf returns the time of a property that setMarks or mark.set has written; zero if it was removed.
func timeOf(f *tables.Fields, name string) tables.Ticks {
	if at := f.Ticks(name); at > firstDateTime {
		return at
	}
	return 0
}

// firstDateTime is the start of 1601, the earliest time that storage accepts. learn.microsoft.com: "Understanding the
// Table service data model", Property types.
const firstDateTime tables.Ticks = 504911232000000000
