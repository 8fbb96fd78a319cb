package verify

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"furrow/tables/schema"
)

// atOnce is how many devices are read at the same time.
const atOnce = 8

// Run yields what it finds of each device, in the order of months and keys. It ends with an error if something cannot
// be read; then nothing is known of the devices that follow.
func (c *Config) Run(ctx context.Context) iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		c, err := *c, error(nil)
		if c.admits, err = c.readAdmission(ctx); err != nil {
			yield(Device{}, err)
			return
		}
		var batch []schema.Member
		var home schema.LatestPartition
		var s *shelf
		known := map[schema.Tenant]bool{}
		for m, err := range c.members(ctx) {
			at := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
			if ends := at != home; err != nil || ends || len(batch) == atOnce {
				if !c.batch(ctx, s, batch, yield) || err == nil && ends && !c.ended(ctx, home, s, yield) {
					return
				}
				batch = batch[:0]
				if err == nil && ends {
					s, err = c.shelf(ctx, at)
				}
			}
			if err != nil {
				yield(Device{}, err)
				return
			}
			known[m.Tenant] = true
			if home = at; c.samples(string(m.Device)) {
				batch = append(batch, m)
			}
		}
		if c.batch(ctx, s, batch, yield) && c.ended(ctx, home, s, yield) {
			c.tenants(ctx, known, yield)
		}
	}
}

// ended verifies what the devices of a tenant and a partition of the fleet have together, after the last of them.
func (c *Config) ended(ctx context.Context, at schema.LatestPartition, s *shelf,
	yield func(Device, error) bool) bool {
	if at.Tenant == "" || c.part() && s == nil {
		return true
	}
	d, err := homeOf(at), error(nil)
	if c.part() {
		d.Begin = hashOf(at.String())
	} else {
		d, err = c.home(ctx, at)
	}
	if err == nil && s != nil {
		var archived Device
		archived, err = s.compare(ctx)
		d.join(archived)
	}
	if err != nil {
		err = fmt.Errorf("tenant %s: %w", at.Tenant, err)
	} else if len(d.Differences) == 0 && len(d.Days) == 0 {
		return true
	}
	return yield(d, err) && err == nil
}

// batch verifies devices at the same time, and yields what was found in their order.
func (c *Config) batch(ctx context.Context, s *shelf, all []schema.Member,
	yield func(Device, error) bool) bool {
	found := make([]Device, len(all))
	running, ctx := errgroup.WithContext(ctx)
	for i, m := range all {
		running.Go(func() (err error) {
			if found[i], err = c.device(ctx, m, s); err != nil {
				return fmt.Errorf("device %s: %w", m.Device, err)
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		yield(Device{}, err)
		return false
	}
	for i, d := range found {
		s.add(all[i], &d)
		if !yield(d, nil) {
			return false
		}
	}
	return true
}
