package schema

import (
	"cmp"

	"furrow/tables"
)

// A Run is a row of the table runs: the work for a slot of a pipeline. It is inserted once,
// so that two schedulers cannot double a slot, and marked when its master job is in the
// queue. An old run without the mark has no master job. The scheduler and the jobs merge
// different properties into it later, whatever its version is.
type Run struct {
	Pipeline Pipeline
	Slot     tables.Ticks // the scheduled time
	By       string       `row:"By,omitzero"`       // random ID of the insert, for this slot only
	Retaken  bool         `row:"Retaken,omitzero"`  // it replaces a run that a clock ahead had put before the slot's time
	Skipped  string       `row:"Skipped,omitzero"`  // why nothing was done for the slot; empty if something was
	Enqueued tables.Ticks `row:"Enqueued,omitzero"` // when the master job was put; 0 if that is unknown
	Started  tables.Ticks `row:"Started,omitzero"`  // when the master job started, which sets it; 0: it is in the queue
	Batches  int64        `row:"Batches,omitzero"`  // device messages of its month jobs, counted by earlier versions
	Audits   int64        `row:"Audits,omitzero"`   // their audit messages
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
	err := e.Encode(&r)
	_, errPipeline := ParsePipeline(string(r.Pipeline))
	return e, cmp.Or(errPipeline, err)
}

// RunOf decodes a row of the table runs.
func RunOf(e tables.Entity) (Run, error) {
	r := Run{Written: e.Timestamp, ETag: e.ETag}
	f := decode(&e, &r)
	r.Pipeline = parsed(f, "PartitionKey", e.PartitionKey, ParsePipeline)
	r.Slot = parsed(f, "RowKey", e.RowKey, tables.ParseTicks)
	return r, f.Err()
}

// An AuditMark is a row of the table runs, pipeline!audits and last, which names the run
// that put a pipeline's last audits.
type AuditMark struct {
	Pipeline Pipeline
	Slot     tables.Ticks `row:"Slot,text"`  // of the run
	Since    tables.Ticks `row:"Since,text"` // slot of the run that put the audits before; 0 if there was none
	ETag     tables.ETag  // of the version that was read
}

const auditRow = "last"

// AuditMarks returns the partition of a pipeline's AuditMark.
func AuditMarks(p Pipeline) string { return string(p) + Separator + "audits" }

// Entity returns the row of a.
func (a AuditMark) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: AuditMarks(a.Pipeline), RowKey: auditRow}
	err := e.Encode(&a)
	_, errPipeline := ParsePipeline(string(a.Pipeline))
	return e, cmp.Or(errPipeline, err)
}

// AuditMarkOf decodes a row of the partition AuditMarks(p).
func AuditMarkOf(p Pipeline, e tables.Entity) (AuditMark, error) {
	a := AuditMark{Pipeline: p, ETag: e.ETag}
	f := decode(&e, &a)
	return a, f.Err()
}
