package schema

import "furrow/tables"

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
