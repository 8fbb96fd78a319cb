package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// copied is the partition that lists the copies of tenants' tables: TENANT!CONTAINER.
const copied = "copies"

// NoteCopy notes that there is a copy of a tenant's tables.
func (c *Catalog) NoteCopy(ctx context.Context, t schema.Tenant, container string) error {
	e := tables.Entity{PartitionKey: copied, RowKey: t.Key() + schema.Separator + container}
	if _, err := c.rows.Do(ctx, tables.InsertOrReplace(e)); err != nil {
		return fmt.Errorf("archive, copy %s of tenant %s: %w", container, t, err)
	}
	return nil
}

// Copies returns the containers with copies of a tenant's tables.
func (c *Catalog) Copies(ctx context.Context, t schema.Tenant) (all []string, err error) {
	prefix := t.Key() + schema.Separator
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(copied), Rows: tables.KeysWithPrefix(prefix)}}
	for e, err := range c.rows.Entities(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("archive, copies of tenant %s: %w", t, err)
		}
		all = append(all, strings.TrimPrefix(e.RowKey, prefix))
	}
	return all, nil
}
