package schema

import "furrow/tables"

// An AuditMark is a row of the table runs that remembers, for a pipeline, which run
// has put the last audits: pipeline!audits and last.
type AuditMark struct {
	Pipeline Pipeline
	Slot     tables.Ticks // of the run
	Since    tables.Ticks // slot of the run that put audits before it; 0 where there was none
	ETag     tables.ETag  // of what was read
}

const auditRow = "last"

// AuditMarks is the partition of a pipeline's AuditMark.
func AuditMarks(p Pipeline) string { return string(p) + Separator + "audits" }

// Entity is a as it is stored.
func (a AuditMark) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: AuditMarks(a.Pipeline), RowKey: auditRow}
	e.Set("Slot", tables.String(a.Slot.String()))
	e.Set("Since", tables.String(a.Since.String()))
	_, err := ParsePipeline(string(a.Pipeline))
	return e, err
}

// AuditMarkOf is a row of the partition AuditMarks(p).
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
