package model

import (
	"maps"
	"strings"

	"furrow/tables/schema"
)

// held takes in which devices of a month a pipeline holds, which is all of them.
// Those that are not known have no record yet, and come with it.
func (x *index) held(p schema.Pipeline, month schema.Month, all []schema.Track) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := map[int32]schema.Track{}
	for _, h := range all {
		if i, ok := x.at[string(h.Place.Device())]; ok {
			h.Reason = strings.Clone(h.Reason)
			now[i] = h
		}
	}
	number := x.month(month)
	changed := false
	for i, of := range x.holds {
		if _, was := of[p]; !was || x.devices[i].month != number {
			continue
		}
		if _, is := now[i]; !is {
			changed = true
			if delete(of, p); len(of) == 0 {
				delete(x.holds, i)
				x.devices[i].flags &^= isHeld
			}
		}
	}
	for i, h := range now {
		if x.holds[i] == nil {
			x.holds[i] = map[schema.Pipeline]schema.Track{}
		}
		changed = changed || x.holds[i][p] != h
		x.holds[i][p] = h
		x.devices[i].flags |= isHeld
	}
	if changed {
		x.touch()
	}
}

// heldOf are the devices of a pipeline that are held.
func (x *index) heldOf(p schema.Pipeline) (all []schema.Track) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, of := range x.holds {
		if h, is := of[p]; is {
			all = append(all, h)
		}
	}
	return all
}

// holdMonths are the months in which a pipeline held devices.
func (x *index) holdMonths(p schema.Pipeline) map[schema.Month]bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	months := map[schema.Month]bool{}
	for i, of := range maps.All(x.holds) {
		if _, is := of[p]; is {
			months[x.monthOf[x.devices[i].month]] = true
		}
	}
	return months
}

// status takes in a change of a device's status.
func (x *index) status(d schema.DeviceID, to schema.Status) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, ok := x.at[string(d)]
	if !ok {
		return
	}
	was := x.devices[i].flags
	x.devices[i].flags &^= isRevoked
	if to == schema.Revoked {
		x.devices[i].flags |= isRevoked
	}
	if x.devices[i].flags != was {
		x.touch()
	}
}
