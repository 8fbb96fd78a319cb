package schema

import (
	"furrow/tables"
)

// A Run is a row of the table runs: the work for a slot of a pipeline. It is inserted once,
// so that two schedulers cannot double a slot, and marked when its master job is in the
// queue. An old run without the mark has no master job. The scheduler and the jobs merge
// different properties into it later, whatever its version is.
type Run struct {
	Pipeline Pipeline
	Slot     tables.Ticks // the scheduled time
	By       string       // random ID of the insert, for this slot only
	Retaken  bool         // it replaces a run that a clock ahead had put before the slot's time
	Skipped  string       // why nothing was done for the slot; empty if something was
	Enqueued tables.Ticks // when the master job was put; 0 if that is unknown
	Started  tables.Ticks // when the master job started, which sets it; 0 while it waits in the queue
	Batches  int64        // device messages that the run's month jobs have put so far
	Audits   int64        // audit messages that they have put
	Written  tables.Ticks // of the last write, by storage's clock; ignored in writes
	ETag     tables.ETag  // of the version that was read
}

// Waits reports whether the run's master job is in the queue and has not started.
func (r Run) Waits() bool { return r.Enqueued != 0 && r.Started == 0 }

// Unmarked reports whether the run needs a master job that may not be in the queue.
func (r Run) Unmarked() bool { return r.Skipped == "" && r.Enqueued == 0 }

// Entity returns the row of r.
func (r Run) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(r.Pipeline), RowKey: r.Slot.String()}
	setNonzero(&e, "By", tables.String(r.By))
	if r.Retaken {
		e.Set("Retaken", tables.Boolean(true))
	}
	setNonzero(&e, "Skipped", tables.String(r.Skipped))
	setNonzero(&e, "Enqueued", tables.DateTime(r.Enqueued))
	setNonzero(&e, "Started", tables.DateTime(r.Started))
	setNonzero(&e, "Batches", tables.Int64(r.Batches))
	setNonzero(&e, "Audits", tables.Int64(r.Audits))
	_, err := ParsePipeline(string(r.Pipeline))
	return e, err
}

// RunOf decodes a row of the table runs.
func RunOf(e tables.Entity) (Run, error) {
	f := fieldsOf(&e)
	r := Run{
		By: f.String("By"), Retaken: f.Boolean("Retaken"), Skipped: f.String("Skipped"),
		Enqueued: f.Ticks("Enqueued"), Started: f.Ticks("Started"),
		Batches: f.Int("Batches"), Audits: f.Int("Audits"), Written: e.Timestamp, ETag: e.ETag,
	}
	var err error
	r.Pipeline, err = ParsePipeline(e.PartitionKey)
	f.Fail("PartitionKey", err)
	r.Slot, err = tables.ParseTicks(e.RowKey)
	f.Fail("RowKey", err)
	return r, f.Err()
}

// An AuditMark is a row of the table runs, pipeline!audits and last, which names the run
// that put a pipeline's last audits.
type AuditMark struct {
	Pipeline Pipeline
	Slot     tables.Ticks // of the run
	Since    tables.Ticks // slot of the run that put the audits before; 0 if there was none
	ETag     tables.ETag  // of the version that was read
}

const auditRow = "last"

// AuditMarks returns the partition of a pipeline's AuditMark.
func AuditMarks(p Pipeline) string { return string(p) + Separator + "audits" }

// Entity returns the row of a.
func (a AuditMark) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: AuditMarks(a.Pipeline), RowKey: auditRow}
	e.Set("Slot", tables.String(a.Slot.String()))
	e.Set("Since", tables.String(a.Since.String()))
	_, err := ParsePipeline(string(a.Pipeline))
	return e, err
}

// AuditMarkOf decodes a row of the partition AuditMarks(p).
func AuditMarkOf(p Pipeline, e tables.Entity) (AuditMark, error) {
	f := fieldsOf(&e)
	a := AuditMark{Pipeline: p, ETag: e.ETag}
	var err error
	a.Slot, err = tables.ParseTicks(f.String("Slot"))
	f.Fail("Slot", err)
	a.Since, err = tables.ParseTicks(f.String("Since"))
	f.Fail("Since", err)
	return a, f.Err()
}
