package report

import (
	"context"
	"errors"
	"fmt"

	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// gather joins all devices' rows of a bucket, in the order of devices.
func (r *Reports) gather(ctx context.Context, at schema.RollupPartition, bucket tables.Ticks) ([]*group, error) {
	gathered := Groups{By: r.By}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(at.String()), Rows: schema.DevicesOfBucket(bucket)}}
	for e, err := range schema.Joined(r.buckets().Entities(ctx, q), schema.BucketOutput) {
		if err != nil {
			return nil, err
		}
		if err := device(&gathered, e); err != nil {
			return nil, fmt.Errorf("%w: table %s: %w", groups.ErrUnmakeable, r.buckets().Name, err)
		}
	}
	return gathered.sorted(), nil
}

// device adds a device's row to its groups.
func device(gathered *Groups, e tables.Entity) error {
	values := map[string]rollup.Timed{}
	for _, p := range e.Properties {
		if fold.IsReserved(p.Name) {
			continue
		}
		v, err := rollup.ParseTimed(p.Value.Text())
		if err != nil {
			return fmt.Errorf("row %s, sensor %s: %w", tables.Quote(e.RowKey), p.Name, err)
		}
		values[p.Name] = v
	}
	stored, err := schema.StoredOf(e)
	if err != nil {
		return fmt.Errorf("row %s: %w", tables.Quote(e.RowKey), err)
	}
	site, labels, err := schema.PlacementOf(e)
	if err == nil {
		gathered.Add(schema.Placement{Site: site, Labels: labels}, values, stored)
	}
	return err
}

// isTaken reports whether a write was refused because another job has written.
func isTaken(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
