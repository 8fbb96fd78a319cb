package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
	"furrow/tables/schema"
)

// countAtOnce is how many partitions of the fleet are counted at a time.
const countAtOnce = 8

// CountTenantDevices writes how many devices of the fleet each tenant has, unless somebody has counted them on the day
// of now. That takes one request where it was done, otherwise one for each partition of the fleet and for each thousand
// devices. Repeated, it replaces what an attempt that died has written.
func (r Runs) CountTenantDevices(ctx context.Context, fleet *tables.Table, now time.Time) error {
	sum := schema.TenantDevices{Day: schema.DayOf(tables.TicksOf(now))}
	row := sum.Entity()
	if _, err := r.Table.Get(ctx, row.PartitionKey, row.RowKey); !errors.Is(err, tables.ErrNotFound) {
		return err
	}
	counted := deviceCount{now: tables.TicksOf(now), of: map[schema.Tenant]int64{}}
	if err := counted.fleet(ctx, fleet); err != nil {
		return err
	}
	var ops []tables.Op
	for tenant, n := range counted.of {
		ops = append(ops, tables.InsertOrReplace(schema.TenantDevices{Day: sum.Day, Tenant: tenant, Devices: n}.Entity()))
		sum.Devices += n
		if len(ops) == tables.MaxOps {
			if _, err := r.Table.Submit(ctx, ops); err != nil {
				return err
			}
			ops = nil
		}
	}
	if len(ops) > 0 {
		if _, err := r.Table.Submit(ctx, ops); err != nil {
			return err
		}
	}
	_, err := r.Table.Do(ctx, tables.InsertOrReplace(sum.Entity()))
	return err
}

// A deviceCount counts the devices that belong to tenants now.
type deviceCount struct {
	now tables.Ticks
	mu  sync.Mutex
	of  map[schema.Tenant]int64
}

// fleet counts all partitions of the fleet.
func (c *deviceCount) fleet(ctx context.Context, fleet *tables.Table) error {
	counting, ctx := errgroup.WithContext(ctx)
	counting.SetLimit(countAtOnce)
	in := tables.Range{Partitions: schema.Memberships("").Partitions}
	for {
		first := tables.Query{Range: in, Select: []string{"PartitionKey"}}
		e, found, err := fleet.First(ctx, first)
		if err != nil || !found {
			return errors.Join(err, counting.Wait())
		}
		counting.Go(func() error { return c.partition(ctx, fleet, e.PartitionKey) })
		in.Partitions = tables.Keys{After: e.PartitionKey}
	}
}

// partition counts a partition of the fleet. It leaves out rows that cannot be read: the master job reports them.
func (c *deviceCount) partition(ctx context.Context, fleet *tables.Table, month string) error {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(month)}, Select: []string{"RowKey", schema.MemberSpans}}
	own := map[schema.Tenant]int64{}
	for e, err := range fleet.Entities(ctx, q) {
		if err != nil {
			return err
		}
		key, err := schema.ParseMemberKey(e.RowKey)
		if err != nil {
			continue
		}
		if spans, err := schema.ParseSpans(e.Get(schema.MemberSpans).Text()); err == nil && spans.Has(c.now) {
			own[key.Tenant()]++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for tenant, n := range own {
		c.of[tenant] += n
	}
	return nil
}
