package tables

// A Run is a row of the table runs: what was done for a slot of a pipeline. It
// is inserted once, so that two schedulers cannot double a slot, and marked
// when its master job is in the queue; an old run without the mark has lost it.
type Run struct {
	Pipeline Pipeline
	Slot     Ticks // the time that was scheduled
	Enqueued Ticks // when the master job was put; 0 while it is not known to be
	ETag     ETag  // of what was read
}

// Entity is r as it is stored.
func (r Run) Entity() (Entity, error) {
	e := Entity{PartitionKey: string(r.Pipeline), RowKey: r.Slot.String()}
	if r.Enqueued != 0 {
		e.Set("Enqueued", DateTime(r.Enqueued))
	}
	_, err := ParsePipeline(string(r.Pipeline))
	return e, err
}

// RunOf is a row of the table runs.
func RunOf(e Entity) (Run, error) {
	f := e.Fields()
	r := Run{Enqueued: f.Ticks("Enqueued"), ETag: e.ETag}
	var err error
	r.Pipeline, err = ParsePipeline(e.PartitionKey)
	f.fail("PartitionKey", err)
	r.Slot, err = ParseTicks(e.RowKey)
	f.fail("RowKey", err)
	return r, f.Err()
}
