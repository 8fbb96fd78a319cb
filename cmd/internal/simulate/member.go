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

	place model.Place // of a Fleet's
	key   uint64
}

// Delivery is what a factory would say of it.
func (m Member) Delivery() sas.Delivery {
	return sas.Delivery{Device: m.ID, Tenant: m.Tenant, Site: m.Site, Position: m.Position, Labels: m.Labels,
		Deployed: m.Deployed}
}

// A Sending is a reading, and when its device hands it over: later than it was taken
// where the device was offline, or in no hurry.
type Sending struct {
	Due     time.Time
	Reading device.Reading
}

// A Stream is what a device hands over, in the order in which it is due.
type Stream = iter.Seq[Sending]
