package check

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// outputs gives the outputs of a partition, whose keys have so many parts. One of
// more than 200 sensors is in several entities, whose keys go on with a number; they
// are joined, and properties that no sensor has are left out.
func (c *checker) outputs(ctx context.Context, table, partition string, keyParts int,
	each func(tables.Entity) error) error {
	whole := tables.Entity{PartitionKey: partition}
	err := c.rows(ctx, table, tables.Query{Range: tables.Partition(partition)}, func(e tables.Entity) error {
		c.found.count(func(r *Result) { r.OutputBytes += int64(e.Size()) })
		key := strings.Split(e.RowKey, "!")
		if c.Except[schema.DeviceID(key[0])] {
			return nil
		}
		key = key[:min(len(key), keyParts)]
		if next := strings.Join(key, "!"); next != whole.RowKey {
			if err := flush(whole, each); err != nil {
				return err
			}
			whole = tables.Entity{PartitionKey: partition, RowKey: next}
		}
		for _, p := range e.Properties {
			if !isReserved(p.Name) {
				whole.Properties = append(whole.Properties, p)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush(whole, each)
}

func flush(whole tables.Entity, each func(tables.Entity) error) error {
	if whole.RowKey == "" {
		return nil
	}
	return each(whole)
}
