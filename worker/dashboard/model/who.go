package model

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A who is what is known of a device for certain: by its record or, where it has
// none, by the fleet or by what it has sent.
type who struct {
	record *schema.Device // nil where there is none
	member schema.Member
}

// whoFor is how long a device's record is good.
const whoFor = 5 * time.Second

// who reads the record of a device. The index has it then, too.
func (s *Store) who(ctx context.Context, id string) (who, Read, error) {
	return s.whos.get(ctx, id, whoFor, func(ctx context.Context) (w who, err error) {
		e, err := s.one(ctx, s.c.Names.Devices(), id, schema.DeviceRow)
		if err != nil {
			return w, err
		}
		if e != nil {
			d, err := schema.DeviceOf(*e)
			if err != nil {
				return w, err
			}
			s.takeRecords([]tables.Entity{*e})
			return who{&d, d.Member()}, nil
		}
		tenant, month, known := s.index.home(id)
		if !known {
			return w, fmt.Errorf("device %s: %w", id, ErrUnknown)
		}
		return who{nil, schema.Member{Device: schema.DeviceID(id), Tenant: tenant, Month: month, Readings: s.c.Names.Readings()}}, nil
	})
}

// home is where the index has a device.
func (x *index) home(id string) (schema.Tenant, schema.Month, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, known := x.at[id]
	if !known {
		return "", schema.Month{}, false
	}
	d := &x.devices[i]
	return schema.Tenant(x.tenants.text(uint32(d.tenant))), x.monthOf[d.month], true
}

// status is what others read that was written before there was one.
func (w who) status() schema.Status {
	if w.record == nil {
		return schema.Active
	}
	return cmp.Or(w.record.Status, schema.Active)
}
