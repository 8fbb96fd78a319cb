package model

import (
	"maps"
	"slices"
	"strings"

	"furrow/tables/schema"
)

// held replaces the failing devices of a month and pipeline. Devices that are not in the index are left out
// until their records are read, and those that have left the fleet, whose tracking rows stay.
func (x *index) held(of monthOf, all []schema.Track) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := map[int32]schema.Track{}
	for _, h := range all {
		i, ok := x.at[string(h.Place.Device())]
		if ok && x.in(&x.devices[i]) == of.month.account && x.devices[i].flags&hasLeft == 0 {
			h.Reason = strings.Clone(h.Reason)
			now[i] = h
		}
	}
	if maps.Equal(x.holds[of], now) {
		return
	}
	x.holds[of] = now
	for i := range x.devices {
		x.devices[i].flags &^= isHeld
	}
	for _, held := range x.holds {
		for i := range held {
			x.devices[i].flags |= isHeld
		}
	}
	x.touch()
}

// heldOf returns the failing devices of a pipeline of an account.
func (x *index) heldOf(in uint16, p schema.Pipeline) (all []schema.Track) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for of, held := range x.holds {
		if of.pipeline == p && of.month.account == in {
			all = slices.AppendSeq(all, maps.Values(held))
		}
	}
	return all
}

// anyHeld reports whether devices of a month are shown as held.
func (x *index) anyHeld(of monthOf) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.holds[of]) > 0
}

func (x *index) status(in uint16, d schema.DeviceID, to schema.Status) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i, ok := x.at[string(d)]
	if !ok || x.in(&x.devices[i]) != in {
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
