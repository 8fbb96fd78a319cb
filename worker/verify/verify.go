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
		var batch []schema.Member
		for m, err := range c.members(ctx) {
			if err == nil {
				if batch = append(batch, m); len(batch) < atOnce {
					continue
				}
			}
			if !c.batch(ctx, batch, yield) {
				return
			}
			if batch = batch[:0]; err != nil {
				yield(Device{}, err)
				return
			}
		}
		c.batch(ctx, batch, yield)
	}
}

// batch verifies devices at the same time, and yields what was found in their order.
func (c *Config) batch(ctx context.Context, all []schema.Member, yield func(Device, error) bool) bool {
	found := make([]Device, len(all))
	running, ctx := errgroup.WithContext(ctx)
	for i, m := range all {
		running.Go(func() (err error) {
			if found[i], err = c.device(ctx, m); err != nil {
				return fmt.Errorf("device %s: %w", m.Device, err)
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		yield(Device{}, err)
		return false
	}
	for _, d := range found {
		if !yield(d, nil) {
			return false
		}
	}
	return true
}
