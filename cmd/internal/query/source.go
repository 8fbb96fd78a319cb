package query

import (
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Source is where the tables of a fleet are.
type Source struct {
	Tables *tables.Client
	Names  schema.Names
}

func (s Source) devices() *tables.Table { return s.Tables.Table(s.Names.Devices()) }
func (s Source) fleet() *tables.Table   { return s.Tables.Table(s.Names.Fleet()) }
func (s Source) latest() *tables.Table  { return s.Tables.Table(s.Names.Latest()) }
func (s Source) rollups() *tables.Table { return s.Tables.Table(s.Names.Rollups()) }
func (s Source) rejects() *tables.Table { return s.Tables.Table(s.Names.Rejects()) }

// absent tells an error that says no more than that nothing is there.
func absent(err error) bool {
	return errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable)
}

// first is the first row of a range, if it has any.
func first(ctx context.Context, t *tables.Table, r tables.Range, properties ...string) (e tables.Entity, found bool, err error) {
	for page, err := range t.Rows(ctx, tables.Query{Range: r, Size: 1, Select: properties}) {
		switch {
		case errors.Is(err, tables.ErrNoTable):
			return e, false, nil
		case err != nil:
			return e, false, err
		case len(page.Rows) > 0:
			return page.Rows[0], true, nil
		}
	}
	return e, false, nil
}

// seek gives the partitions of a table by their first rows, each found with one
// request however many rows lie between. From the first, next says which
// partitions come after.
func seek(ctx context.Context, t *tables.Table, part tables.Keys, next func(pk string) (after tables.Keys)) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			e, found, err := first(ctx, t, tables.Range{Partitions: part}, "Timestamp")
			if err != nil || !found {
				if err != nil {
					yield("", err)
				}
				return
			}
			if !yield(e.PartitionKey, nil) {
				return
			}
			part = next(e.PartitionKey)
		}
	}
}

// months are the partitions of the fleet.
func (s Source) months(ctx context.Context) iter.Seq2[string, error] {
	return seek(ctx, s.fleet(), tables.Keys{From: "0"}, func(pk string) tables.Keys { return tables.Keys{After: pk} })
}
