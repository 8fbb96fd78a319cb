package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Catalog knows the tables of a fleet's archive. It is safe for concurrent use.
type Catalog struct{ rows *tables.Table }

// New returns the catalog that is kept in a table of storage.
func New(rows *tables.Table) *Catalog { return &Catalog{rows} }

// A Table is one table of a tenant, such as readings.
type Table struct {
	Tenant schema.Tenant
	Name   string
	// Kept is how long after it was replaced a version can be read, at least a day: its files stay so long.
	Kept time.Duration
	rows *tables.Table
	key  string // PartitionKey of its rows
}

// Table returns a table of a tenant, whether or not it exists. Its rows are a partition whose key does not tell the
// tenant, so that nothing names a tenant that was removed.
func (c *Catalog) Table(t schema.Tenant, name string) *Table {
	sum := sha256.Sum256([]byte(t.Key() + schema.Separator + name))
	return &Table{Tenant: t, Name: name, rows: c.rows, key: hex.EncodeToString(sum[:16])}
}

// listed is the partition that lists all tables: t!TENANT!NAME.
const listed = "tables"

// tableRows are those of the list.
const tableRows = "t!"

func tenantRows(t schema.Tenant) string { return tableRows + t.Key() + schema.Separator }

// listing returns the row of the list that has the table.
func (t *Table) listing() tables.Entity {
	return tables.Entity{PartitionKey: listed, RowKey: tenantRows(t.Tenant) + t.Name}
}

// Tables returns all tables of a tenant that were ever made, in the order of their names.
func (c *Catalog) Tables(ctx context.Context, t schema.Tenant) (all []*Table, err error) {
	for one, err := range c.list(ctx, tenantRows(t)) {
		if err != nil {
			return nil, fmt.Errorf("archive, tables of tenant %s: %w", t, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// All yields the tables of all tenants, in the order of these.
func (c *Catalog) All(ctx context.Context) iter.Seq2[*Table, error] { return c.list(ctx, tableRows) }

func (c *Catalog) list(ctx context.Context, prefix string) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(listed), Rows: tables.KeysWithPrefix(prefix)},
			Select: []string{"RowKey"}}
		for e, err := range c.rows.Entities(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			parts, err := parse(e.RowKey, tableRows, 2)
			if err == nil {
				var tenant schema.Tenant
				if tenant, err = schema.ParseTenantKey(parts[0]); err == nil && !yield(c.Table(tenant, parts[1]), nil) {
					return
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// Folder returns the folder of the table's files.
func (t *Table) Folder() string { return delta.Folder(string(t.Tenant)) + "/" + t.Name + "/" }

// Path returns the name of the blob of a file.
func (t *Table) Path(f *File) string { return t.Folder() + f.path() }

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

func (t *Table) entity(row string) tables.Entity {
	return tables.Entity{PartitionKey: t.key, RowKey: row}
}

// query asks for the rows of a kind, or of those a part.
func (t *Table) query(prefix string) tables.Query {
	return tables.Query{Range: tables.Range{Partitions: tables.Is(t.key), Rows: tables.KeysWithPrefix(prefix)}}
}

// Errors that callers compare.
var (
	// ErrStale says that somebody else has changed what a job has read: it begins again, with Begin.
	ErrStale = errors.New("what was read has changed meanwhile")
	// ErrAbsent says that a table does not exist, or no longer.
	ErrAbsent = errors.New("the archive has no such table")
	// ErrRefused says that storage will never take a transaction as it is.
	ErrRefused = errors.New("storage does not take it")
	// ErrForeign says that somebody else writes into the log of a table.
	ErrForeign = errors.New("another program writes into this table's log; give it a token that only reads, and have a " +
		"fresh log published")
)

func (t *Table) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("archive, table %s of tenant %s: %s: %w", t.Name, t.Tenant, what, err)
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
