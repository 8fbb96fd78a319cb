package model

import (
	"strings"

	"furrow/tables/schema"
)

// held replaces the failing devices of a month and pipeline. Devices that are not in the index are left out
// until their records are read.
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

// heldOf returns the failing devices of a pipeline.
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

// holdMonths returns the months in which a pipeline has failing devices.
func (x *index) holdMonths(p schema.Pipeline) map[schema.Month]bool {
	months := map[schema.Month]bool{}
	for _, h := range x.heldOf(p) {
		months[h.Place.Month] = true
	}
	return months
}

// status changes a device's status.
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
