package query

import (
	"context"
	"errors"
	"iter"

	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Fleet is where a fleet stores what its devices and pipelines write.
type Fleet struct {
	Tables *tables.Client
	Names  schema.Names
}

func (f Fleet) devices() *tables.Table { return f.Tables.Table(f.Names.Devices()) }
func (f Fleet) fleet() *tables.Table   { return f.Tables.Table(f.Names.Fleet()) }
func (f Fleet) latest() *tables.Table  { return f.Tables.Table(f.Names.Latest()) }
func (f Fleet) rollups() *tables.Table { return f.Tables.Table(f.Names.Rollups()) }
func (f Fleet) rates() *tables.Table   { return f.Tables.Table(f.Names.Output(rate.Table)) }
func (f Fleet) rejects() *tables.Table { return f.Tables.Table(f.Names.Rejects()) }

// absent reports whether err means that a row or its table does not exist.
func absent(err error) bool {
	return errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable)
}

// first returns the keys of the first row in a range; false where there is none.
func first(ctx context.Context, t *tables.Table, in tables.Range) (e tables.Entity, found bool, err error) {
	for e, err = range t.Entities(ctx, tables.Query{Range: in, Size: 1, Select: []string{"Timestamp"}}) {
		found = err == nil
		break
	}
	return e, found, err
}

// partitions yields partitions that have rows, with one request each, however many rows
// they have. Next returns where to look after a partition was found.
func partitions(
	ctx context.Context, t *tables.Table, from tables.Keys, next func(pk string) (after tables.Keys),
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

func after(pk string) tables.Keys { return tables.Keys{After: pk} }

func (f Fleet) months(ctx context.Context) iter.Seq2[string, error] {
	return partitions(ctx, f.fleet(), schema.Memberships("").Partitions, after)
}

// LatestPartitions yields the partitions of latest that have rows, with one request each.
func (f Fleet) LatestPartitions(ctx context.Context) iter.Seq2[schema.LatestPartition, error] {
	return func(yield func(schema.LatestPartition, error) bool) {
		for pk, err := range partitions(ctx, f.latest(), tables.Keys{}, after) {
			p, bad := schema.ParseLatestPartition(pk)
			if err == nil && bad != nil {
				err = &UnreadableError{Table: f.latest().Name, PartitionKey: pk, Err: bad}
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
