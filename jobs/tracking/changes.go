package tracking

import (
	"math"

	"furrow/tables"
	"furrow/tables/schema"
)

// setImports sets the properties of imports that have changed.
func (t *Row) setImports(e *tables.Entity) {
	if t.Imported != t.Was.Imported {
		e.Set(schema.TrackImported, tables.Int64(int64(t.Imported)))
	}
}

// setSpans sets the properties of spans that have changed.
func (t *Row) setSpans(e *tables.Entity) {
	if spans := t.Spans.String(); spans != t.Was.Spans.String() {
		e.Set(schema.TrackSpans, tables.String(spans))
	}
	if t.Uncut != t.Was.Uncut {
		e.Set(schema.TrackUncut, tables.Int64(int64(t.Uncut)))
	}
}

// SetMarks sets the marks that have changed. A removed time becomes the earliest one that storage accepts, because a
// merge removes nothing.
func (t *Row) SetMarks(e *tables.Entity) {
	if t.Attempts != t.Was.Attempts {
		e.Set(schema.TrackAttempts, tables.Int64(int64(t.Attempts)))
	}
	if t.Held != t.Was.Held {
		e.Set(schema.TrackHeld, tables.String(t.Held))
	}
	if t.HeldUntil != t.Was.HeldUntil {
		e.Set(schema.TrackHeldUntil, tables.DateTime(max(t.HeldUntil, firstDateTime)))
	}
	if t.Chain != t.Was.Chain {
		t.Chain.SetChain(e)
	}
	if t.RefoldMark != t.Was.RefoldMark {
		t.RefoldMark.SetRefold(e)
	}
}

// SetCoverage sets the coverage, and what has changed of the progress in making days again.
func (t *Row) SetCoverage(e *tables.Entity) {
	t.setCoverage(e)
	if t.Rebuilt {
		SetStates(e, schema.TrackRebuilt, t.Again)
	}
	if !t.Refolded() {
		return
	}
	e.Set(schema.TrackRefoldRow, tables.String(t.Stream.Row))
	counted := t.Stream.Counted
	if counted == nil {
		counted = &Ledger{}
	}
	e.Set(schema.TrackRefoldLedger, tables.Binary(counted.Append(nil)))
	e.Set(schema.TrackRefoldRejects, tables.Binary(t.Stream.Rejects.append(nil)))
	if t.Stream.Row != "" {
		e.Set(schema.TrackRefoldKnown, tables.Binary(t.Stream.Rejects.Known.append(nil)))
		SetStates(e, schema.TrackRefolded, t.Stream.States)
	}
}

// Refolded reports whether days have become stale or were made again since the row was read.
func (t *Row) Refolded() bool {
	return !t.Coverage.Same(t.Was.Coverage) || t.Stream.Row != t.Was.Stream.Row
}

// SameWork reports whether storage has the days to be made again, and the progress in that, that the row was read with.
func (t *Row) SameWork(found *tables.Entity) bool {
	f := found.Fields()
	now := Row{Last: f.String(schema.TrackCheckpoint), Spans: t.Was.Spans}
	err := now.readCoverage(f)
	return err == nil && now.Coverage.Same(t.Was.Coverage) && f.String(schema.TrackRefoldRow) == t.Was.Stream.Row
}

// setWaits sets what has changed of readings that stay.
func (t *Row) setWaits(e *tables.Entity) {
	if t.Waits != t.Was.Waits {
		e.Set(schema.TrackWaits, tables.String(t.Waits.Cause))
		e.Set(schema.TrackWaitsFrom, tables.Int64(int64(t.Waits.From)))
	}
}

// setBatch sets the properties of the last batch.
func (t *Row) setBatch(e *tables.Entity) {
	if t.Batch != t.Was.Batch {
		e.Set(schema.TrackBatchRows, tables.Int32(int32(t.Batch.Rows)))
		e.Set(schema.TrackBatchTook, tables.Int32(int32(min(t.Batch.Took.Microseconds(), math.MaxInt32))))
	}
}
