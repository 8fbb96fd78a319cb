package simulate

import (
	"context"
	"sync"

	"furrow/sas"
	"furrow/tables/schema"
)

// registering is how many devices are registered at the same time.
const registering = 32

// Register makes members known, with where and since when they are, as an import of
// the factory's file would. It may be repeated. The progress is told how many are
// done; nil: nobody is.
func Register(ctx context.Context, registry sas.Registry, enrollment func(Member) schema.Enrollment, members []Member,
	progress func(done int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan Member)
	var mu sync.Mutex
	done := 0
	var workers sync.WaitGroup
	for range min(registering, len(members)) {
		workers.Go(func() {
			for m := range next {
				if _, _, err := registry.Import(ctx, enrollment(m), m.Delivery()); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				if done++; progress != nil {
					progress(done)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range members {
		select {
		case next <- m:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
