package query

import (
	"context"
	"iter"

	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Fleet is where a fleet stores what its devices and pipelines write. Each of its readers has one subject.
type Fleet struct {
	Tables *tables.Client
	Names  schema.Names
}

// Devices reads who the devices are: their records, their memberships of tenants, and the scopes of questions.
type Devices Fleet

// Rows reads what devices have written, and which of it was rejected.
type Rows Fleet

// Outputs reads what processors have made of readings: newest values, rollups and rates.
type Outputs Fleet

// Incidents reads incidents and mutes, and closes, notes and mutes them.
type Incidents Fleet

// Reports reads what is reported of many devices together, and what tenants cost.
type Reports Fleet

// Progress reads how far the pipelines have got, with the fleet and with single devices.
type Progress Fleet

func (f Fleet) Devices() Devices     { return Devices(f) }
func (f Fleet) Rows() Rows           { return Rows(f) }
func (f Fleet) Outputs() Outputs     { return Outputs(f) }
func (f Fleet) Incidents() Incidents { return Incidents(f) }
func (f Fleet) Reports() Reports     { return Reports(f) }
func (f Fleet) Progress() Progress   { return Progress(f) }

func (f Devices) devices() *tables.Table { return f.Tables.Table(f.Names.Devices()) }
func (f Devices) fleet() *tables.Table   { return f.Tables.Table(f.Names.Fleet()) }
func (f Outputs) latest() *tables.Table  { return f.Tables.Table(f.Names.Output(latest.Table)) }
func (f Outputs) rollups() *tables.Table { return f.Tables.Table(f.Names.Output(rollup.Table)) }
func (f Outputs) rates() *tables.Table   { return f.Tables.Table(f.Names.Output(rate.Table)) }
func (f Rows) rejects() *tables.Table    { return f.Tables.Table(f.Names.Rejects()) }

// first returns the keys of the first row in a range; false where there is none.
func first(ctx context.Context, t *tables.Table, in tables.Range) (e tables.Entity, found bool, err error) {
	return t.First(ctx, tables.Query{Range: in, Select: []string{"Timestamp"}})
}

// partitions yields partitions that have rows, with one request each, however many rows they have.
func partitions(ctx context.Context, t *tables.Table, in tables.Keys) iter.Seq2[string, error] {
	return leaping(ctx, t, in, func(pk string) tables.Keys { return tables.Keys{After: pk, Before: in.Before} })
}

// leaping is partitions that may leave some out: next returns where to look after a partition was found.
func leaping(
	ctx context.Context, t *tables.Table, from tables.Keys, next func(pk string) tables.Keys,
) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			e, found, err := first(ctx, t, tables.Range{Partitions: from})
			if !found && err == nil || !yield(e.PartitionKey, err) || err != nil {
				return
			}
			from = next(e.PartitionKey)
		}
	}
}

// parsed yields what parse makes of the keys of partitions. One that it cannot parse is unreadable.
func parsed[R any](
	ctx context.Context, t *tables.Table, in tables.Keys, parse func(pk string) (R, error),
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		each(partitions(ctx, t, in), yield, func(pk string) bool {
			r, err := parse(pk)
			if err != nil {
				err = &schema.UnreadableError{Table: t.Name, PartitionKey: pk, Err: err}
			}
			return yield(r, err)
		})
	}
}
