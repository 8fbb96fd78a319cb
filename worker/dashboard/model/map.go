package model

import (
	"cmp"
	"context"
	"iter"
	"math"
	"time"

	"furrow/tables/schema"
)

// A MapQuery asks for a map. The zero MapQuery is the whole world.
type MapQuery struct {
	Filter
	Box    Box // the zero Box: the world
	Zoom   float64
	Sensor string // empty: the number that most devices have
}

// Maps show where the devices of a fleet are, and how they are.
type Maps struct {
	accounts  *Accounts
	sensors   *Census
	incidents *IncidentAnswers
	decider   *decider
	layers    *memo[*layer]
	ground    *ground
}

// maxDots is the largest number of devices in view that are shown one by one.
const maxDots = 800

func (ms *Maps) Map(ctx context.Context, q MapQuery) (Map, error) {
	var err error
	if q.Filter, err = ms.decider.ready(ctx, q.Filter, q.Sensor); err != nil {
		return Map{}, err
	}
	return ms.mapAt(q, ms.accounts.watch.touch()), nil
}

// mapAt returns the map of the index as it is.
func (ms *Maps) mapAt(q MapQuery, at time.Time) Map {
	q.Box = cmp.Or(q.Box, World())
	now := ms.accounts.now()
	of := ms.accounts.index.selected(q.Filter, now)
	if q.Sensor == "" {
		q.Sensor = ms.sensors.shown(q.Tenant, func(i int) bool {
			return of.includes(int32(i)) && ms.accounts.index.devices[i].in(q.Box)
		})
	}
	m := Map{At: at.UTC().Truncate(time.Millisecond), Sensor: q.Sensor, Unit: ms.accounts.Configured().unit(q.Sensor),
		Clusters: []Cluster{}, Devices: []Dot{}, Counted: Counted{ms.accounts.operations()}}
	m.Total = of.total
	l := ms.layer(q.Sensor)
	sums := make([]sum, 0, 256)
	for _, c := range q.Box.cells(q.Zoom) {
		if sum := l.sum(c, of, now); sum.n > 0 {
			sums = append(sums, sum)
			m.InView += sum.n
		}
	}
	m.Scale = l.scale(sums, of)
	if m.InView <= maxDots {
		sums = l.split(sums, q.Zoom, of, now)
	}
	var single []int32
	for i := range sums {
		switch sum := &sums[i]; {
		case m.InView <= maxDots && !sum.crowded(q.Zoom):
			for j := sum.from; j < sum.before; j++ {
				if of.includes(l.devices[j]) {
					single = append(single, l.devices[j])
				}
			}
		case sum.n == 1:
			single = append(single, l.devices[sum.one])
		default:
			m.Clusters = append(m.Clusters, sum.cluster())
		}
	}
	m.Devices = ms.accounts.index.dots(single, q.Sensor, now)
	return m
}

// of yields the devices in the fleet of a tenant, or of all for the empty one.
func (x *roster) of(tenant string) iter.Seq[*device] {
	return func(yield func(*device) bool) {
		number, known := x.tenants.number[tenant]
		for _, d := range x.inFleet() {
			if (tenant == "" || known && d.tenant == number) && !yield(d) {
				return
			}
		}
	}
}

// hasTenant reports whether a tenant is known. The empty one stands for all, and is.
func (x *index) hasTenant(tenant string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.tenants.number[tenant]
	return known || tenant == ""
}

// total returns how many devices a tenant has.
func (x *index) total(tenant string) (n int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for range x.of(tenant) {
		n++
	}
	return n
}

func (x *index) dots(devices []int32, sensor string, now uint32) []Dot {
	x.mu.RLock()
	defer x.mu.RUnlock()
	number, known := x.sensors.number[sensor]
	dots := make([]Dot, 0, len(devices))
	for _, i := range devices {
		d := &x.devices[i]
		dot := Dot{Device: d.id, Lat: d.lat, Lon: d.lon, State: d.state(now), Time: timeOfUnix(d.newest),
			Severity: severityText(severityIn(d.flags))}
		if known {
			if v := d.value(uint16(number)); v != nil {
				dot.Value, dot.Time = x.shown(v), timeOfUnix(v.time)
			}
		}
		dots = append(dots, dot)
	}
	return dots
}

// state returns a device's state at a time. Revoked comes before held, and held before new and silent.
func (d *device) state(now uint32) State {
	switch {
	case d.flags&isRevoked != 0:
		return Revoked
	case d.flags&isHeld != 0:
		return Held
	case d.due() == 0 && now > 0:
		return Unheard
	case d.due() < now:
		return Silent
	}
	return OK
}

// due returns the Unix time from which a device is silent: zero if it is new, and never if nobody states its interval.
func (d *device) due() uint32 { return dueAt(d.newest, d.every) }

func dueAt(newest, every uint32) uint32 {
	switch {
	case newest == 0:
		return 0
	case every == 0:
		return math.MaxUint32
	}
	return uint32(min(uint64(newest)+schema.Overdue*uint64(every), math.MaxUint32))
}

// overdueSince returns since when a device is silent, or nil.
func (d *device) overdueSince(now uint32) *time.Time {
	if d.state(now) != Silent {
		return nil
	}
	return timeOfUnix(d.due())
}

func (x *roster) shown(v *value) any {
	if v.flags&isText != 0 {
		return x.texts.text(uint32(v.number))
	}
	return v.number
}

// timeOfUnix returns a Unix time; nil for zero.
func timeOfUnix(seconds uint32) *time.Time {
	if seconds == 0 {
		return nil
	}
	return new(time.Unix(int64(seconds), 0).UTC())
}
