package model

import (
	"encoding/json"
	"furrow/tables/schema"
	"iter"
	"math"
	"time"
)

// records takes devices' records of an account.
func (x *index) records(in uint16, all []schema.Device) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := false
	for i := range all {
		changed = x.record(in, &all[i], false) || changed
	}
	if changed {
		x.touch()
	}
}

// found takes the record of a device that every account was asked for.
func (x *index) found(in uint16, r schema.Device) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.record(in, &r, true) {
		x.touch()
	}
}

// record takes a record. A device that is in two accounts, as while it is copied, is shown from the first of them,
// unless it is surely in the other.
func (x *roster) record(in uint16, r *schema.Device, surely bool) (changed bool) {
	if _, is := x.at[string(r.ID)]; !is && r.Status == schema.Erased {
		return false
	}
	known := len(x.devices)
	d := &x.devices[x.device(string(r.ID), r.Tenant, monthIn{in, r.Month})]
	was := *d
	if x.in(d) < in && d.flags&isRecorded != 0 && !surely && (r.Status.Left() || d.flags&hasLeft == 0) {
		return false
	}
	if r.Status.Left() && x.in(d) != in {
		return false // another account has it
	}
	x.formerly(d, r)
	if r.Status.Left() {
		return x.leave(d, in, r)
	}
	if d.flags&hasLeft != 0 { // it has registered again
		x.gone--
		x.members[d.month]++
		d.flags &^= hasLeft
	}
	if month := x.month(monthIn{in, r.Month}); d.month != month { // also if it was erased, and has registered again
		x.members[d.month]--
		d.month, d.values, d.newest = month, nil, 0
		x.members[d.month]++
	}
	if tenant := x.tenant(r.Tenant); d.tenant != tenant { // it has moved
		d.tenant, d.values, d.newest, d.flags = tenant, nil, 0, d.flags&withoutSeverity
	}
	d.site, _ = x.sites.numberOf(string(r.Site), math.MaxUint32)
	a, member := x.accounts[in], r.Member()
	model, _ := x.models.numberOf(a.modelOf(member), math.MaxUint16)
	x.meant[uint16(model)] = a.sensorsOf(member)
	d.model, d.labels, d.every = uint16(model), "", seconds(a.every(member))
	if len(r.Labels) > 0 {
		text, _ := json.Marshal(r.Labels) // texts can always be encoded
		d.labels = string(text)
	}
	d.flags = d.flags&^(isRevoked|isPlaced) | isRecorded
	if r.Status == schema.Revoked {
		d.flags |= isRevoked
	}
	d.lat, d.lon = 0, 0
	if p := r.Position; p != nil {
		d.place(p.Lat, p.Lon)
	}
	x.follow(d)
	moved := d.lat != was.lat || d.lon != was.lon
	if moved || d.flags&isPlaced != was.flags&isPlaced {
		x.placed++
	}
	return known < len(x.devices) || moved || d.tenant != was.tenant || d.flags != was.flags || d.site != was.site ||
		d.labels != was.labels || d.model != was.model || d.every != was.every
}

// formerly notes the tenants that a device has left.
func (x *roster) formerly(d *device, r *schema.Device) {
	if len(r.Former) > 0 {
		x.former[d.id] = nil
	}
	for _, t := range r.Tenants()[1:] {
		x.former[d.id] = append(x.former[d.id], x.tenant(t))
	}
}

// leave takes a device out of the fleet. It stays known, as its outputs do.
func (x *roster) leave(d *device, in uint16, r *schema.Device) (changed bool) {
	if d.flags&hasLeft != 0 {
		return false
	}
	x.gone++
	x.members[d.month]--
	d.tenant, d.month = x.tenant(r.Tenant), x.month(monthIn{in, r.Month})
	x.placed++
	d.flags, d.values, d.newest = isRecorded|hasLeft, nil, 0
	return true
}

// lists reports whether a device is known, and has not left the fleet.
func (x *index) lists(id string) (listed bool) {
	x.look(id, func(d *device) { listed = d.flags&hasLeft == 0 })
	return listed
}

// inFleet yields the devices that have not left the fleet, with their positions.
func (x *roster) inFleet() iter.Seq2[int, *device] {
	return func(yield func(int, *device) bool) {
		for i := range x.devices {
			if d := &x.devices[i]; d.flags&hasLeft == 0 && !yield(i, d) {
				return
			}
		}
	}
}

// seconds returns the whole seconds of a stated interval.
func seconds(d time.Duration) uint32 { return uint32(d / time.Second) }
