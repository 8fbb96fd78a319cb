package model

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// An owner says who owns a device and where its rows are: from its record or, without one, from the index.
type owner struct {
	record  *schema.Device // nil: there is none, or it cannot be read
	skipped query.Skipped  // the record, where it cannot be read
	member  schema.Member

	policies *schema.Policies // of its readings table; nil: it has no tokens, or they cannot be read
}

// ownerAge is how long a read record is used.
const ownerAge = 5 * time.Second

// owner reads the record of a device, which also updates the index. For the device of a tenant that ctx may not see,
// it does what it does for an unknown device: it reads one record, and keeps nothing.
func (s *Store) owner(ctx context.Context, id string) (owner, Read, error) {
	only := within(ctx)
	return s.owners.get(ctx, id+schema.Separator+only, ownerAge, func(ctx context.Context) (o owner, err error) {
		unknown := fmt.Errorf("device %s: %w", id, ErrUnknown)
		d, found, err := s.fleet.Record(ctx, schema.DeviceID(id))
		if only != "" && found && string(d.Tenant) != only {
			return o, unknown
		}
		if found {
			s.index.records([]schema.Device{d})
			o = owner{record: &d}
			var is bool
			if o.member, is, err = s.fleet.MemberOf(ctx, d); err != nil {
				return o, err
			}
			if !is {
				return o, unknown // it is being moved
			}
			if len(d.Tokens) == 0 {
				return o, nil
			}
			policies, found, err := s.fleet.Policies(ctx, d.Readings)
			if err != nil && !o.skipped.Add(err) {
				return o, err
			}
			if found {
				o.policies = &policies
			}
			return o, nil
		}
		if err != nil && !o.skipped.Add(err) {
			return o, err
		}
		tenant, month, known := s.index.home(id)
		switch {
		case !known && only == "":
			return o, cmp.Or(err, unknown)
		case !known, only != "" && string(tenant) != only:
			return o, unknown
		}
		o.member = schema.Member{Device: schema.DeviceID(id), Tenant: tenant, Month: month, Readings: s.c.Names.Readings()}
		return o, nil
	})
}

// Forget has a device read again for the next request: somebody has changed it.
func (s *Store) Forget(id string) {
	for _, key := range s.owners.kept.Keys() {
		if strings.HasPrefix(key, id+schema.Separator) {
			s.owners.kept.Remove(key)
		}
	}
	s.devices.kept.Remove(id)
	s.told.kept.Remove(id)
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
