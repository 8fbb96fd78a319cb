package catalog

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"
)

// A partition has the rows of one table. A Table, its Log and its Cleaner are what is done with them.
type partition struct {
	Tenant schema.Tenant
	Name   string
	rows   *tables.Table
	key    string // PartitionKey
}

// Log returns how the table is published in a container.
func (p *partition) Log(c Container) *Log { return &Log{p, c} }

// Cleaner returns what deletes from the catalog and from a container what the table no longer needs.
func (p *partition) Cleaner(c Container) *Cleaner { return &Cleaner{p, c} }

// Folder returns the folder of the table's files.
func (p *partition) Folder() string { return delta.Folder(string(p.Tenant)) + "/" + p.Name + "/" }

// Path returns the name of the blob of a file.
func (p *partition) Path(f *File) string { return p.Folder() + f.path() }

// listing returns the row of the list that has the table.
func (p *partition) listing() tables.Entity {
	return tables.Entity{PartitionKey: listed, RowKey: tenantRows(p.Tenant) + p.Name}
}

// Kinds of rows, by what their RowKeys begin with.
const (
	headRow    = "head"
	columnsRow = "head!columns" // beside head, so that one query reads both
	logRow     = "log"

	columnRows  = "c!"
	dayRows     = "d!"
	fileRows    = "f!"
	pendingRows = "p!"
	removedRows = "r!"
	versionRows = "v!"
)

func (p *partition) entity(row string) tables.Entity {
	return tables.Entity{PartitionKey: p.key, RowKey: row}
}

// query asks for the rows of a kind, or of those a part.
func (p *partition) query(prefix string) tables.Query {
	return tables.Query{Range: tables.Range{Partitions: tables.Is(p.key), Rows: tables.KeysWithPrefix(prefix)}}
}

// between asks for the rows of a kind that are of days from first to last.
func (p *partition) between(kind string, first, last schema.Day) tables.Query {
	q := p.query(kind + first.String())
	q.Range.Rows.Before = tables.KeysWithPrefix(kind + last.String()).Before
	return q
}

// read yields what rows say.
func read[T any](ctx context.Context, p *partition, q tables.Query,
	decode func(tables.Entity) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range p.rows.Entities(ctx, q) {
			var one T
			if err == nil {
				one, err = decode(e)
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

func (p *partition) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("archive, table %s of tenant %s: %s: %w", p.Name, p.Tenant, what, err)
}

// parse returns the parts of a RowKey behind its kind.
func parse(row, kind string, parts int) ([]string, error) {
	rest, is := strings.CutPrefix(row, kind)
	all := strings.SplitN(rest, schema.Separator, parts)
	if !is || len(all) != parts {
		return nil, fmt.Errorf("row %s of the archive's catalog has another form", tables.Quote(row))
	}
	return all, nil
}
