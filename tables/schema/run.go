package schema

import "furrow/tables"

// A Run is a row of the table runs: what was done for a slot of a pipeline. It
// is inserted once, so that two schedulers cannot double a slot, and marked
// when its master job is in the queue; an old run without the mark has lost it.
// Whoever adds to a run later merges properties of its own, whatever version
// stands: the scheduler's mark and the jobs' figures do not meet.
type Run struct {
	Pipeline Pipeline
	Slot     tables.Ticks // the time that was scheduled
	By       string       // the scheduler that inserted it: a random id, for this slot alone
	Skipped  string       // why nothing was done for the slot; empty where something was
	Enqueued tables.Ticks // when the master job was put; 0 while it is not known to be
	Started  tables.Ticks // when the master job began, which marks it; 0 while it waits in the queue
	Batches  int64        // device messages that the run's month jobs have put so far
	Audits   int64        // audit messages that they have put
	Written  tables.Ticks // when storage last wrote it, by its own clock; ignored in what is written
	ETag     tables.ETag  // of what was read
}

// Waits tells whether the run's master job is in the queue and has not begun.
func (r Run) Waits() bool { return r.Enqueued != 0 && r.Started == 0 }

// Unmarked tells whether the run's master job is not known to be in the queue.
func (r Run) Unmarked() bool { return r.Skipped == "" && r.Enqueued == 0 }

// Entity is r as it is stored.
func (r Run) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(r.Pipeline), RowKey: r.Slot.String()}
	setNonzero(&e, "By", tables.String(r.By))
	setNonzero(&e, "Skipped", tables.String(r.Skipped))
	setNonzero(&e, "Enqueued", tables.DateTime(r.Enqueued))
	setNonzero(&e, "Started", tables.DateTime(r.Started))
	setNonzero(&e, "Batches", tables.Int64(r.Batches))
	setNonzero(&e, "Audits", tables.Int64(r.Audits))
	_, err := ParsePipeline(string(r.Pipeline))
	return e, err
}

// RunOf is a row of the table runs.
func RunOf(e tables.Entity) (Run, error) {
	f := fieldsOf(&e)
	r := Run{
		By: f.String("By"), Skipped: f.String("Skipped"), Enqueued: f.Ticks("Enqueued"), Started: f.Ticks("Started"),
		Batches: f.Int("Batches"), Audits: f.Int("Audits"), Written: e.Timestamp, ETag: e.ETag,
	}
	var err error
	r.Pipeline, err = ParsePipeline(e.PartitionKey)
	f.Fail("PartitionKey", err)
	r.Slot, err = tables.ParseTicks(e.RowKey)
	f.Fail("RowKey", err)
	return r, f.Err()
}
