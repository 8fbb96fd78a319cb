package model

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// An owner says who owns a device and where its rows are: from its record or, without one, from the index.
type owner struct {
	until   tables.Ticks   // when it left the tenant for another one; 0: it belongs to the tenant
	record  *schema.Device // nil: there is none, it cannot be read, or it is no longer the tenant's
	skipped query.Skipped  // the record, where it cannot be read
	member  schema.Member

	policies *schema.Policies // of its readings table; nil: it has no tokens, or they cannot be read
}

// Owners know who owns each device, and which devices a person may see.
type Owners struct {
	accounts *Accounts
	kept     cache[owner]
}

// ownerAge is how long a read record is used.
const ownerAge = 5 * time.Second

// owner returns the owner of a device. For the device of a tenant that ctx may not see, it does what it does for an
// unknown device.
func (own *Owners) owner(ctx context.Context, id string) (owner, error) {
	o, err := own.holder(ctx, id)
	if err == nil && o.until != 0 {
		return owner{}, unknownDevice(id)
	}
	return o, err
}

func unknownDevice(id string) error { return fmt.Errorf("device %s: %w", id, ErrUnknown) }

// Check returns ErrUnknown for a device of a tenant that ctx may not see, also if that tenant once had it.
func (own *Owners) Check(ctx context.Context, id string) error {
	_, err := own.owner(ctx, id)
	return err
}

// holder returns the owner of a device, or the tenant that ctx may see if that once had the device: it sees what is of
// its time. It reads the record of the device, which also updates the index. For a device that the tenant never had it
// does what it does for an unknown device: it reads one record, and keeps nothing.
func (own *Owners) holder(ctx context.Context, id string) (owner, error) {
	only := within(ctx)
	return own.kept.get(ctx, id+schema.Separator+only, ownerAge, func(ctx context.Context) (o owner, err error) {
		unknown := unknownDevice(id)
		a, d, found, err := own.record(ctx, schema.DeviceID(id))
		if only != "" && found && string(d.Tenant) != only {
			m, had, failed := a.fleet.Devices().FormerOf(ctx, d, schema.Tenant(only))
			switch {
			case failed != nil:
				return o, failed
			case !had && err != nil && !o.skipped.Add(err):
				return o, err
			case !had:
				return o, unknown
			}
			own.accounts.index.found(a.number, d)
			return owner{until: m.Spans.End(), member: m}, nil
		}
		if found {
			own.accounts.index.found(a.number, d)
			o = owner{record: &d}
			var is bool
			if o.member, is, err = a.fleet.Devices().MemberOf(ctx, d); err != nil {
				return o, err
			}
			if !is {
				return o, unknown // it is being moved
			}
			if o.until = o.member.Spans.End(); o.until != 0 { // its record has not followed a move yet
				o.record = nil
				return o, nil
			}
			if len(d.Tokens) == 0 {
				return o, nil
			}
			policies, found, err := a.fleet.Devices().Policies(ctx, d.Readings)
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
		home, known := own.accounts.index.home(id)
		switch {
		case !known && only == "":
			return o, cmp.Or(err, unknown)
		case !known, only != "" && string(home.Tenant) != only:
			return o, unknown
		}
		o.member = schema.Member{Device: schema.DeviceID(id), Tenant: home.Tenant, Month: home.Month,
			Readings: own.accounts.all[home.account].Names.Readings()}
		return o, nil
	})
}

// Forget has a device read again for the next request: somebody has changed it.
func (ds *Devices) Forget(id string) {
	forget(&ds.owners.kept, id)
	forget(&ds.kept, id)
	forget(&ds.told, id)
}

// forget removes what a cache has of a device, for any tenant.
func forget[T any](c *cache[T], id string) {
	for _, key := range c.kept.Keys() {
		if strings.HasPrefix(key, id+schema.Separator) {
			c.kept.Remove(key)
		}
	}
}

// ofMember begins the key of what is cached of a device for one of its tenants.
func ofMember(m schema.Member) string {
	return string(m.Device) + schema.Separator + m.Tenant.Key() + schema.Separator
}

// record reads the record of a device in all accounts, whether it is known or not: what a request costs tells nothing.
// While a device is in several, as when it is copied, that of the first is taken where it has not left. The error is of
// an account that cannot be read; the record may be found nevertheless.
func (own *Owners) record(
	ctx context.Context, id schema.DeviceID,
) (a *account, d schema.Device, found bool, err error) {
	type answer struct {
		device schema.Device
		found  bool
		err    error
	}
	all, _ := everywhere(ctx, own.accounts, func(ctx context.Context, a *account) (one answer, err error) {
		one.device, one.found, one.err = a.fleet.Devices().Record(ctx, id)
		if new(query.Skipped).Add(one.err) {
			return one, nil // the account is well
		}
		return one, one.err
	})
	for i, one := range all {
		if one.err == nil && !one.found {
			one.err = own.accounts.skips(ctx, own.accounts.all[i])
		}
		if one.found && (!found || d.Status.Left() && !one.device.Status.Left()) {
			a, d, found = own.accounts.all[i], one.device, true
		}
		err = cmp.Or(err, one.err)
	}
	return a, d, found, err
}

// home returns where a device is, from the index.
func (x *index) home(id string) (at located, known bool) {
	known = x.look(id, func(d *device) { at = x.located(place{d.tenant, d.month}) })
	return at, known
}

// status returns the device's status; a record without one is active.
func (o owner) status() schema.Status {
	if o.record == nil {
		return schema.Active
	}
	return cmp.Or(o.record.Status, schema.Active)
}
