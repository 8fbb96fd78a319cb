package replay

import (
	"slices"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/schema"
)

// span sets the range of plausible times.
func (r *Recording) span() {
	future, past := tables.TicksOf(r.config.Now.Add(24*time.Hour)), tables.Ticks(0)
	newest := r.extreme(past, future, func(a, b tables.Ticks) bool { return a > b })
	if newest < 0 { // all are in the future
		newest = r.extreme(0, tables.MaxTicks, func(a, b tables.Ticks) bool { return a > b })
	}
	oldest := r.extreme(newest.Add(-schema.MaxBackfill), newest, func(a, b tables.Ticks) bool { return a < b })
	r.Oldest, r.Newest = oldest.Time(), newest.Time()
}

// extreme returns the first time between from and to in the order of before, or -1.
func (r *Recording) extreme(from, to tables.Ticks, before func(a, b tables.Ticks) bool) tables.Ticks {
	found := tables.Ticks(-1)
	for _, d := range r.devices {
		for _, reading := range d.readings {
			if at := reading.at; at >= from && at <= to && (found < 0 || before(at, found)) {
				found = at
			}
		}
	}
	return found
}

// Devices returns the number of devices.
func (r *Recording) Devices() int { return len(r.devices) }

// Members returns the devices, with all times shifted.
func (r *Recording) Members(shift time.Duration) []simulate.Member {
	all := make([]simulate.Member, len(r.devices))
	for i, d := range r.devices {
		m := simulate.Member{ID: d.id, Tenant: r.config.Tenant, Site: schema.Site(d.site), Position: d.position,
			Deployed: r.Newest.Add(shift)}
		for sensor, is := range r.labels {
			if text, said := d.texts[sensor]; is && said {
				if m.Labels == nil {
					m.Labels = map[string]string{}
				}
				m.Labels[r.sensors[sensor]] = text
			}
		}
		for _, reading := range d.readings {
			if at := reading.at.Time().Add(shift); r.right(reading.at) && at.Before(m.Deployed) {
				m.Deployed = at
			}
		}
		all[i] = m
	}
	return all
}

// right reports whether a time is plausible.
func (r *Recording) right(at tables.Ticks) bool {
	return at >= tables.TicksOf(r.Oldest) && at <= tables.TicksOf(r.Newest)
}

// Sendings returns the readings of a member in the order of the file, with all times shifted. A reading is
// due at its own time, or at that of an earlier line if that is later.
func (r *Recording) Sendings(m simulate.Member, shift time.Duration) simulate.Stream {
	return func(yield func(simulate.Sending) bool) {
		due := r.Oldest.Add(shift)
		for _, reading := range r.byID[m.ID].readings {
			s := simulate.Sending{Reading: device.Reading{Time: reading.at.Time().Add(shift),
				Values: make(map[string]any, len(reading.values))}}
			for _, v := range slices.Concat(reading.values, reading.about) {
				if !r.labels[v.Sensor] {
					s.Reading.Values[r.sensors[v.Sensor]] = v.Value
				}
			}
			if r.right(reading.at) && s.Reading.Time.After(due) {
				due = s.Reading.Time
			}
			if s.Due = due; !yield(s) {
				return
			}
		}
	}
}
