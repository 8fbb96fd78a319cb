package simulate

import (
	"context"
	"iter"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate/model"
	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables/schema"

	"golang.org/x/sync/errgroup"
)

// registering is how many devices are registered at the same time.
const registering = 32

// Register registers members with their places and dates of deployment, as an import of a factory's file does.
// Repeating it changes nothing. It calls registered, which may be nil, after each device, for one at a time.
func Register(ctx context.Context, registry sas.Registry, enrollment func(Member) schema.Enrollment, members []Member,
	registered func(schema.DeviceID, sas.Outcome)) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(registering)
	var mu sync.Mutex
	for _, m := range members {
		all.Go(func() error {
			_, outcome, err := registry.Import(ctx, enrollment(m), m.Delivery())
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if registered != nil {
				registered(m.ID, outcome)
			}
			return nil
		})
	}
	return all.Wait()
}

// A Member is a device of a simulated fleet.
type Member struct {
	ID       schema.DeviceID
	Tenant   schema.Tenant
	Site     schema.Site
	Position *schema.Position
	Labels   map[string]string // perhaps those of other members, too
	Deployed time.Time

	place model.Place // of a Fleet's member
	key   uint64
}

// Delivery returns what a factory would announce.
func (m Member) Delivery() sas.Delivery {
	return sas.Delivery{Device: m.ID, Tenant: m.Tenant, Site: m.Site, Position: m.Position, Labels: m.Labels,
		Deployed: m.Deployed}
}

// A Sending is a reading and the time at which its device sends it, which is later than the reading's own if the
// device was offline or collects readings.
type Sending struct {
	Due     time.Time
	Reading device.Reading
}

// A Stream is what a device sends, in the order in which it is due.
type Stream = iter.Seq[Sending]
