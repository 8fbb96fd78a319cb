package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

type groupKey struct {
	by   schema.By
	name string
}

// gather joins all devices' rows of a bucket, in the order of devices.
func (r *Reports) gather(ctx context.Context, at schema.RollupPartition, bucket tables.Ticks) ([]*group, error) {
	groups := map[groupKey]*group{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(at.String()), Rows: schema.DevicesOfBucket(bucket)}}
	for e, err := range schema.Joined(r.buckets().Entities(ctx, q), schema.BucketOutput) {
		if err != nil {
			return nil, err
		}
		if err := r.device(groups, e); err != nil {
			return nil, fmt.Errorf("%w: table %s: %w", jobs.ErrUnmakeable, r.buckets().Name, err)
		}
	}
	all := make([]*group, 0, len(groups))
	for _, g := range groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(slices.Index(r.By, a.by)-slices.Index(r.By, b.by), cmp.Compare(a.name, b.name))
	})
	return all, nil
}

// device adds a device's row to its groups.
func (r *Reports) device(groups map[groupKey]*group, e tables.Entity) error {
	values := map[string]rollup.Timed{}
	for _, p := range e.Properties {
		if jobs.IsReserved(p.Name) {
			continue
		}
		v, err := rollup.ParseTimed(p.Value.Text())
		if err != nil {
			return fmt.Errorf("row %s, sensor %s: %w", tables.Quote(e.RowKey), p.Name, err)
		}
		values[p.Name] = v
	}
	site, labels, err := schema.PlacementOf(e)
	if err != nil || len(values) == 0 {
		return err
	}
	for _, by := range r.By {
		name, is := by.Of(site, labels)
		if !is {
			continue
		}
		g := groups[groupKey{by, name}]
		if g == nil {
			g = &group{by: by, name: name, sensors: map[string]*Aggregate{}, rest: map[string]bool{}}
			groups[groupKey{by, name}] = g
		}
		g.add(values)
	}
	return nil
}

// isTaken reports whether a write was refused because another job has written.
func isTaken(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
