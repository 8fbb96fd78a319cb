package model

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// sensed is what the index knows of the sensors of the devices of a tenant.
type sensed []Sensor

// first is a number that most devices have, or a state where there is none. Of those
// that about as many have it is a temperature, which everybody can read on a map.
func (all sensed) first() string {
	weight := func(s Sensor) float64 {
		w := float64(s.Devices)
		if s.Kind == "number" {
			w *= 1000
		}
		if strings.Contains(strings.ToLower(s.Name), "temperature") {
			w *= 1.2
		}
		return w
	}
	best := ""
	most := 0.0
	for _, s := range all { // by name, so that the first of equals is always the same
		if w := weight(s); w > most {
			best, most = s.Name, w
		}
	}
	return best
}

// scale is from where to where the numbers of a sensor mostly lie.
func (all sensed) scale(name string) *[2]float64 {
	for _, s := range all {
		if s.Name == name && s.Min != nil {
			return &[2]float64{*s.Min, *s.Max}
		}
	}
	return nil
}

// Sensors are those that the devices of a tenant have, or of all; by name.
func (s *Store) Sensors(ctx context.Context, tenant string) (Sensors, Read, error) {
	at, err := s.watched.look(ctx)
	if at.IsZero() && err != nil {
		return Sensors{}, Read{}, err
	}
	return Sensors{Sensors: append([]Sensor{}, s.sensors(tenant)...)}, s.polled(at), nil
}

// A census remembers the sensors of each tenant for a while.
type census struct {
	mu  sync.Mutex
	all map[string]counted
}

type counted struct {
	at      time.Time
	version uint64
	sensors sensed
}

const (
	censusFor  = 10 * time.Second // colours that change faster would say nothing
	mostCensus = 256
	// mostSamples bounds the numbers of a sensor that its scale is found from.
	mostSamples = 5000
)

func (s *Store) sensors(tenant string) sensed {
	c := &s.index.census
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.all[tenant]
	version := s.index.current()
	// While there is next to nothing, what comes is shown at once.
	if ok && (k.version == version || time.Since(k.at) < censusFor && len(k.sensors) > 0) {
		return k.sensors
	}
	if len(c.all) >= mostCensus || c.all == nil {
		c.all = map[string]counted{}
	}
	k = counted{time.Now(), version, nil}
	if of, known := s.index.whose(tenant); known {
		k.sensors = s.index.sensed(of)
	}
	for i := range k.sensors {
		k.sensors[i].Unit = s.unit(k.sensors[i].Name)
	}
	c.all[tenant] = k
	return k.sensors
}

func (x *index) sensed(of whose) sensed {
	x.mu.RLock()
	defer x.mu.RUnlock()
	type tally struct {
		devices, numbers int
		samples          []float64
	}
	tallies := make([]tally, len(x.sensors.all))
	every := 1 + len(x.devices)/mostSamples
	for i := range x.devices {
		d := &x.devices[i]
		if !of.all && d.tenant != of.tenant {
			continue
		}
		for _, v := range d.values {
			t := &tallies[v.sensor]
			t.devices++
			if v.flags&isText != 0 {
				continue
			}
			if t.numbers%every == 0 && v.flags&isDoubtful == 0 {
				t.samples = append(t.samples, v.number)
			}
			t.numbers++
		}
	}
	var all sensed
	for i, t := range tallies {
		if t.devices == 0 {
			continue
		}
		s := Sensor{Name: x.sensors.all[i], Kind: "state", Devices: t.devices}
		if 2*t.numbers >= t.devices {
			s.Kind = "number"
		}
		if n := len(t.samples); n > 0 && s.Kind == "number" {
			slices.Sort(t.samples)
			s.Min, s.Max = &t.samples[n*2/100], &t.samples[(n-1)-(n-1)*2/100]
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// FirstSensor is what is shown of a tenant's devices, or of all, where none is chosen.
func (s *Store) FirstSensor(tenant string) string { return s.sensors(tenant).first() }
