package model

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// sensed are the sensors that the devices of a tenant have, by name.
type sensed []Sensor

// first returns the sensor to show when none is chosen: the number that most devices have, or else a state.
// Temperatures get a small preference, because everyone can read them on a map.
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
	best, heaviest := "", 0.0
	for _, s := range all {
		if w := weight(s); w > heaviest {
			best, heaviest = s.Name, w
		}
	}
	return best
}

// scale returns the range in which most numbers of a sensor lie.
func (all sensed) scale(name string) *[2]float64 {
	for _, s := range all {
		if s.Name == name && s.Min != nil {
			return &[2]float64{*s.Min, *s.Max}
		}
	}
	return nil
}

// Sensors returns the sensors of a tenant's devices, or of all devices, by name.
func (s *Store) Sensors(ctx context.Context, tenant string) (Sensors, Read, error) {
	read, err := s.polled(ctx)
	if err != nil {
		return Sensors{}, read, err
	}
	return Sensors{Sensors: append([]Sensor{}, s.SensorsOf(ctx, tenant)...)}, read, nil
}

const (
	censusAge = 10 * time.Second // colours that change faster would be hard to read
	maxCensus = 256
	// maxSamples limits the numbers that a sensor's scale is computed from.
	maxSamples = 5000
)

// SensorsOf returns the sensors of a tenant's devices, or of all devices, as far as they are known.
func (s *Store) SensorsOf(ctx context.Context, tenant string) []Sensor {
	return s.sensors(scoped(ctx, tenant))
}

func (s *Store) sensors(tenant string) sensed {
	all := s.census.get(tenant, func() (all sensed) {
		if of, known := s.index.only(tenant); known {
			all = s.index.sensed(of)
		}
		for i := range all {
			all[i].Unit = s.unit(all[i].Name)
		}
		return all
	})
	if len(all) == 0 { // the first sensors are shown at once
		s.census.forget(tenant)
	}
	return all
}

func (x *index) sensed(of tenantFilter) sensed {
	x.mu.RLock()
	defer x.mu.RUnlock()
	type tally struct {
		devices, numbers int
		samples          []float64
	}
	tallies := make([]tally, len(x.sensors.all))
	every := 1 + len(x.devices)/maxSamples
	for i := range x.devices {
		d := &x.devices[i]
		if !of.includes(d.tenant) {
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
		if _, is := Rated(s.Name); is {
			s.Kind = "rate"
		}
		if n := len(t.samples); n > 0 && s.Kind != "state" {
			slices.Sort(t.samples)
			s.Min, s.Max = &t.samples[n*2/100], &t.samples[(n-1)-(n-1)*2/100]
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// FirstSensor returns the sensor that is shown of a tenant's devices, or of all, when none is chosen.
func (s *Store) FirstSensor(ctx context.Context, tenant string) string {
	return s.sensors(scoped(ctx, tenant)).first()
}
