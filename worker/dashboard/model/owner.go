package model

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An owner says whose a device is and where its rows are: from its record or, without one, from the index.
type owner struct {
	record     *schema.Device // nil: there is none, or it cannot be read
	unreadable error          // why the record cannot be read
	member     schema.Member
}

// ownerAge is how long a read record is used.
const ownerAge = 5 * time.Second

// owner reads the record of a device, which also updates the index.
func (s *Store) owner(ctx context.Context, id string) (owner, Read, error) {
	return s.owners.get(ctx, id, ownerAge, func(ctx context.Context) (o owner, err error) {
		e, err := s.one(ctx, s.c.Names.Devices(), id, schema.DeviceRow)
		if err != nil {
			return o, err
		}
		if e != nil {
			d, err := schema.DeviceOf(*e)
			if err == nil {
				s.takeRecords([]tables.Entity{*e})
				return owner{record: &d, member: d.Member()}, nil
			}
			o.unreadable = err
		}
		tenant, month, known := s.index.home(id)
		switch {
		case !known && o.unreadable != nil:
			return o, fmt.Errorf("the record of device %s: %w", id, o.unreadable)
		case !known:
			return o, fmt.Errorf("device %s: %w", id, ErrUnknown)
		}
		o.member = schema.Member{Device: schema.DeviceID(id), Tenant: tenant, Month: month, Readings: s.c.Names.Readings()}
		return o, nil
	})
}

// home returns a device's tenant and month from the index.
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

// status returns the device's status; a record without one is active.
func (o owner) status() schema.Status {
	if o.record == nil {
		return schema.Active
	}
	return cmp.Or(o.record.Status, schema.Active)
}
