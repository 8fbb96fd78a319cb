package tracking

import (
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

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
		Imported: tables.Ticks(f.Int(schema.TrackImported)), Left: f.String(schema.TrackLeft),
		Marks: Marks{Attempts: int(f.Int(schema.TrackAttempts)), Held: f.String(schema.TrackHeld),
			HeldUntil:  timeOf(f, schema.TrackHeldUntil),
			Chain:      Mark{f.String(schema.TrackChainMark), timeOf(f, schema.TrackChainUntil)},
			RefoldMark: Mark{f.String(schema.TrackRefoldMark), timeOf(f, schema.TrackRefoldUntil)}},
	}
	t.Remember()
	t.Uncut, t.Recounted = tables.Ticks(f.Int(schema.TrackUncut)), tables.Ticks(f.Int(schema.TrackRecounted))
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
	// Audits drop counts as they seal days. Below a watermark that was raised without this pipeline nobody does.
	t.Ledger.Drop(coverage.Window{To: t.Coverage.Watermark})
	if t.Open, err = parseOpen(f.Binary(schema.TrackOpen)); err != nil {
		return t, err
	}
	if t.States, err = statesOf(&e, schema.TrackStates); err != nil {
		return t, err
	}
	t.Remember()
	t.Was.Rest, _ = schema.RestOf(&e)
	if t.Hold.unfinished() {
		t.Uncut = max(t.Uncut, t.Fence)
	}
	return t, f.Err()
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
	if t.Rest != (schema.Rest{}) {
		t.Rest.Claim = claim
		e.Set(schema.TrackRest, tables.String(t.Rest.String()))
	}
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
	if t.Recounted != t.Was.Recounted {
		e.Set(schema.TrackRecounted, tables.Int64(int64(t.Recounted)))
	}
	SetStates(&e, schema.TrackStates, t.States)
	schema.SetFormat(&e, t.Format)
	return tables.Merge(e, t.ETag)
}
