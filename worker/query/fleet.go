package query

import (
	"context"
	"errors"
	"iter"

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
func (f Fleet) rejects() *tables.Table { return f.Tables.Table(f.Names.Rejects()) }

// absent tells whether err says only that nothing is there.
func absent(err error) bool {
	return errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable)
}

// rows are the rows that a query asks for. A table that does not exist has none.
func rows(ctx context.Context, t *tables.Table, q tables.Query) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		for page, err := range t.Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(tables.Entity{}, err)
				return
			}
			for _, e := range page.Rows {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// partitions yields the partitions of a table that have rows, one request each however
// many rows lie between. From the first one on, next says which ones come after.
func partitions(
	ctx context.Context, t *tables.Table, from tables.Keys, next func(pk string) (after tables.Keys),
) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for found := true; found; {
			found = false
			q := tables.Query{Range: tables.Range{Partitions: from}, Size: 1, Select: []string{"Timestamp"}}
			for e, err := range rows(ctx, t, q) {
				if !yield(e.PartitionKey, err) || err != nil {
					return
				}
				from, found = next(e.PartitionKey), true
				break
			}
		}
	}
}

// months yields the partitions of the fleet.
func (f Fleet) months(ctx context.Context) iter.Seq2[string, error] {
	next := func(pk string) tables.Keys { return tables.Keys{After: pk} }
	return partitions(ctx, f.fleet(), tables.Keys{From: "0"}, next)
}
