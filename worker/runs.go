package worker

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Runs reads and writes the table runs.
type Runs struct {
	Table *tables.Table

	// Unreadable, if not nil, is called for each row that cannot be read, which is then skipped. Otherwise such a row is
	// an error.
	Unreadable func(tables.Entity, error)
}

// skip reports whether a read continues after a row that cannot be read.
func (r Runs) skip(e tables.Entity, err error) bool {
	if r.Unreadable != nil {
		r.Unreadable(e, err)
	}
	return r.Unreadable != nil
}

// Take writes the row of a slot: in place of the version that run names, or else a new one. It returns tables.ErrExists
// if the slot has one, and tables.ErrConflict if it has another version.
func (r Runs) Take(ctx context.Context, run schema.Run) error {
	e, err := run.Entity()
	if err != nil {
		return err
	}
	op := tables.Insert(e)
	if run.ETag != "" {
		op = tables.Replace(e, run.ETag)
	}
	_, err = r.Table.Do(ctx, op)
	return err
}

// MarkEnqueued records on a run's row that its master job was put. It merges into any version of the row, because the
// jobs of the run write there, too.
func (r Runs) MarkEnqueued(ctx context.Context, run schema.Run, at tables.Ticks) error {
	e, err := schema.Run{Pipeline: run.Pipeline, Slot: run.Slot, Enqueued: at}.Entity()
	if err != nil {
		return err
	}
	_, err = r.Table.Do(ctx, tables.Merge(e, tables.AnyETag))
	return err
}

// Since reads a pipeline's runs from a slot on, the oldest first, with the time of the service.
func (r Runs) Since(ctx context.Context, p schema.Pipeline, slot tables.Ticks) (runs []schema.Run, now time.Time,
	err error) {
	rows := tables.RowsBetween(string(p), slot.String(), tables.MaxTicks.String())
	for page, err := range r.Table.Rows(ctx, tables.Query{Range: rows}) {
		if err != nil {
			return nil, now, err
		}
		now = page.Time
		for _, e := range page.Rows {
			run, err := schema.RunOf(e)
			if err != nil && r.skip(e, err) {
				continue
			}
			if err != nil {
				return nil, now, err
			}
			runs = append(runs, run)
		}
	}
	return runs, now, nil
}

// Audited returns the slot of the pipeline's last run that has put audits, or zero.
func (r Runs) Audited(ctx context.Context, p schema.Pipeline) (tables.Ticks, error) {
	mark, err := schema.AuditMark{Pipeline: p}.Entity()
	if err != nil {
		return 0, err
	}
	found, err := r.Table.Get(ctx, mark.PartitionKey, mark.RowKey)
	if tables.Absent(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	last, err := schema.AuditMarkOf(p, found)
	return last.Slot, err
}
