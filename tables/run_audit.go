package tables

// An AuditMark is a row of the table runs that remembers, for a pipeline and a
// depth, which run has put the last audits: pipeline!audits and the depth.
type AuditMark struct {
	Pipeline Pipeline
	Depth    string // short or full
	Slot     Ticks  // of the run
	ETag     ETag   // of what was read
}

// AuditMarks is the partition of a pipeline's AuditMarks.
func AuditMarks(p Pipeline) string { return string(p) + Separator + "audits" }

// Entity is a as it is stored.
func (a AuditMark) Entity() (Entity, error) {
	e := Entity{PartitionKey: AuditMarks(a.Pipeline), RowKey: a.Depth}
	e.Set("Slot", String(a.Slot.String()))
	_, err := ParsePipeline(string(a.Pipeline))
	return e, err
}

// AuditMarkOf is a row of the partition AuditMarks(p).
func AuditMarkOf(p Pipeline, e Entity) (AuditMark, error) {
	f := e.Fields()
	a := AuditMark{Pipeline: p, Depth: e.RowKey, ETag: e.ETag}
	var err error
	a.Slot, err = ParseTicks(f.String("Slot"))
	f.fail("Slot", err)
	return a, f.Err()
}
