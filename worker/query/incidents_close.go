package query

import (
	"context"
	"errors"
	"time"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
)

// Removed is the reason for which the incidents of a device close that has left the fleet.
const Removed = "the device was removed"

// Close closes the open incidents of a device that has left the fleet, those of its former tenants among them, and
// returns how many it has closed. It can be repeated.
func (f Incidents) Close(ctx context.Context, d schema.Device) (closed int, err error) {
	for _, t := range d.Tenants() {
		n, err := f.closeOf(ctx, t, d.ID)
		if closed += n; err != nil {
			return closed, err
		}
	}
	return closed, nil
}

func (f Incidents) closeOf(ctx context.Context, of schema.Tenant, device schema.DeviceID) (closed int, err error) {
	open := IncidentSelector{Device: device, States: []string{IncidentOpen, IncidentAcknowledged},
		Span: Span{0, tables.MaxTicks}}
	for i, err := range f.openOfTenant(ctx, of, open) {
		if err != nil {
			return closed, err
		}
		t, now := i.Transition, tables.TicksOf(time.Now())
		t.Number, t.What, t.Reason, t.Acknowledged = t.Number+1, schema.Closed, Removed, false
		t.At, t.Found = max(now, i.At), now
		t.Text = rules.ClosedText(t.At-i.At, Removed)
		_, err := f.table().Do(ctx, tables.Insert(t.Entity()))
		if err != nil && !errors.Is(err, tables.ErrExists) {
			return closed, err
		}
		if err := f.unindex(ctx, t); err != nil {
			return closed, err
		}
		closed++
	}
	return closed, nil
}
