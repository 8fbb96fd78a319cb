package simulate

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"furrow/sas"
	"furrow/tables/schema"
)

// registering is how many devices are registered at the same time.
const registering = 32

// Register registers members with their places and dates of deployment, as an import of a factory's file does.
// Repeating it changes nothing. It calls progress, which may be nil, after each device.
func Register(ctx context.Context, registry sas.Registry, enrollment func(Member) schema.Enrollment, members []Member,
	progress func(done int)) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(registering)
	var mu sync.Mutex
	done := 0
	for _, m := range members {
		all.Go(func() error {
			if _, _, err := registry.Import(ctx, enrollment(m), m.Delivery()); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done)
			}
			return nil
		})
	}
	return all.Wait()
}
