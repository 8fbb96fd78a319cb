package simulate

import (
	"iter"
	"time"

	"furrow/cmd/internal/simulate/model"
	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A Member is a device of a simulated fleet.
type Member struct {
	ID       schema.DeviceID
	Tenant   schema.Tenant
	Site     schema.Site
	Position *schema.Position
	Labels   map[string]string
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
