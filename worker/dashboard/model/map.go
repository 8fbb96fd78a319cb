package model

import (
	"context"
	"time"
)

// A MapQuery is what a map was asked for. The zero MapQuery is the whole world.
type MapQuery struct {
	Box    Box // the zero Box is the world
	Zoom   float64
	Sensor string // empty: the number that most devices have
	Tenant string // empty: all
}

// mostDots is how many devices in view are shown one by one.
const mostDots = 800

// Map is what is to be seen in a part of the world.
func (s *Store) Map(ctx context.Context, ask MapQuery) (Map, Read, error) {
	at, err := s.watched.look(ctx)
	if at.IsZero() && err != nil {
		return Map{}, Read{}, err
	}
	return s.still(ask, at), s.polled(at), nil
}

// still is the map as the index has it.
func (s *Store) still(ask MapQuery, at time.Time) Map {
	if ask.Box == (Box{}) {
		ask.Box = World()
	}
	sensors := s.sensors(ask.Tenant)
	if ask.Sensor == "" {
		ask.Sensor = sensors.first()
	}
	m := Map{At: at.UTC().Truncate(time.Millisecond), Sensor: ask.Sensor, Unit: s.unit(ask.Sensor), Scale: sensors.scale(ask.Sensor),
		Clusters: []Cluster{}, Devices: []Dot{}, Operations: s.rounds.cost(), PerMinute: s.PerMinute()}
	of, known := s.index.whose(ask.Tenant)
	if !known {
		return m
	}
	m.Total = s.index.total(of)
	l := s.grounds.of(ask.Sensor)
	silence := s.silence()
	sums := make([]sum, 0, 256)
	for _, c := range ask.Box.cells(ask.Zoom) {
		if sum := l.sum(c, of, silence); sum.n > 0 {
			sums = append(sums, sum)
			m.InView += sum.n
		}
	}
	if m.InView <= mostDots {
		sums = l.apart(sums, ask.Zoom, of, silence)
	}
	var single []int32
	for i := range sums {
		switch sum := &sums[i]; {
		case m.InView <= mostDots && !sum.crowded(ask.Zoom):
			for j := sum.from; j < sum.before; j++ {
				if of.all || l.tenants[j] == of.tenant {
					single = append(single, l.devices[j])
				}
			}
		case sum.n == 1:
			single = append(single, l.devices[sum.one])
		default:
			m.Clusters = append(m.Clusters, sum.cluster())
		}
	}
	m.Devices = s.index.dots(single, ask.Sensor, silence)
	return m
}

// silence is the Unix time before which a newest value makes a device of the index
// silent. Until all values were read once, none is known to be.
func (s *Store) silence() uint32 {
	if !s.rounds.complete.Load() {
		return 0
	}
	return s.silentBefore()
}

func (s *Store) silentBefore() uint32 {
	return uint32(max(0, time.Now().Add(-s.c.Silent).Unix()))
}

func (x *index) whose(tenant string) (whose, bool) {
	if tenant == "" {
		return whose{all: true}, true
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, ok := x.tenants.number[tenant]
	return whose{tenant: uint16(i)}, ok
}

// total is how many devices there are, on the map or not.
func (x *index) total(of whose) (n int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if of.all {
		return len(x.devices)
	}
	for i := range x.devices {
		if x.devices[i].tenant == of.tenant {
			n++
		}
	}
	return n
}

func (x *index) dots(devices []int32, sensor string, silence uint32) []Dot {
	x.mu.RLock()
	defer x.mu.RUnlock()
	number, known := x.sensors.number[sensor]
	dots := make([]Dot, 0, len(devices))
	for _, i := range devices {
		d := &x.devices[i]
		dot := Dot{Device: d.id, Lat: d.lat, Lon: d.lon, State: d.state(silence), Time: moment(d.newest)}
		if known {
			if v := d.value(uint16(number)); v != nil {
				dot.Value, dot.Time = x.shown(v), moment(v.time)
			}
		}
		dots = append(dots, dot)
	}
	return dots
}

// state is how a device is. What it may not do comes before what it does not do.
func (d *device) state(silence uint32) State {
	switch {
	case d.flags&isRevoked != 0:
		return Revoked
	case d.flags&isHeld != 0:
		return Held
	case d.newest < silence:
		return Silent
	}
	return OK
}

// shown is a value as JSON has it.
func (x *index) shown(v *value) any {
	if v.flags&isText != 0 {
		return x.texts.text(uint32(v.number))
	}
	return v.number
}

// moment is a Unix time; zero is none.
func moment(seconds uint32) *time.Time {
	if seconds == 0 {
		return nil
	}
	t := time.Unix(int64(seconds), 0).UTC()
	return &t
}
