package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Catalog knows the tables of a fleet's archive. It is safe for concurrent use.
type Catalog struct{ rows *tables.Table }

// New returns the catalog that is kept in a table of storage.
func New(rows *tables.Table) *Catalog { return &Catalog{rows} }

// A Table is one table of a tenant, such as readings: jobs read what it has, and commit what they change.
type Table struct{ *partition }

// Table returns a table of a tenant, whether or not it exists. Its rows are a partition whose key does not tell the
// tenant, so that nothing names a tenant that was removed.
func (c *Catalog) Table(t schema.Tenant, name string) *Table {
	sum := sha256.Sum256([]byte(t.Key() + schema.Separator + name))
	return &Table{&partition{t, name, c.rows, hex.EncodeToString(sum[:16])}}
}

// listed is the partition that lists all tables: t!TENANT!NAME.
const listed = "tables"

// tableRows are those of the list.
const tableRows = "t!"

func tenantRows(t schema.Tenant) string { return tableRows + t.Key() + schema.Separator }

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
