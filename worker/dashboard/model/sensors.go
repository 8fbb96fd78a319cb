package model

import (
	"cmp"
	"context"
	"fmt"
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

// Sensors returns the sensors of a tenant's devices, or of all devices, by name.
func (s *Store) Sensors(ctx context.Context, tenant string) (Sensors, Read, error) {
	read, err := s.polled(ctx)
	if err != nil {
		return Sensors{}, read, err
	}
	return Sensors{Sensors: append([]Sensor{}, s.SensorsOf(ctx, tenant)...)}, read, nil
}

const (
	censusAge = 10 * time.Second
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
			low, high := middle(t.samples)
			s.Min, s.Max = &low, &high
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// checkSensor returns an error for a sensor that no device of a tenant, or of any, has.
func (s *Store) checkSensor(tenant, sensor string) error {
	if sensor == "" || s.hasSensor(tenant, sensor) {
		return nil
	}
	var known []string
	for _, other := range s.sensors(tenant) {
		known = append(known, other.Name)
	}
	return unknownSensor(sensor, known)
}

// HasSensor reports whether a device of a tenant, or of any, has a sensor. Until all values were read once, each may.
func (s *Store) HasSensor(ctx context.Context, tenant, sensor string) bool {
	return s.hasSensor(scoped(ctx, tenant), sensor)
}

func (s *Store) hasSensor(tenant, sensor string) bool {
	if !s.complete() {
		return true
	}
	of, known := s.index.only(tenant)
	x := s.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	number, sensed := x.sensors.number[sensor]
	return known && sensed && slices.ContainsFunc(x.devices, func(d device) bool {
		return of.includes(d.tenant) && d.value(uint16(number)) != nil
	})
}

// maxNamed is how many known sensors an error names.
const maxNamed = 40

func unknownSensor(sensor string, known []string) error {
	if len(known) == 0 {
		return queryErrorf("there is no sensor %q: no device has sent a value yet", sensor)
	}
	names, more := strings.Join(known[:min(len(known), maxNamed)], ", "), ""
	if len(known) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(known)-maxNamed)
	}
	return queryErrorf("there is no sensor %q; there are %s%s", sensor, names, more)
}

// FirstSensor returns the sensor that is shown of a tenant's devices, or of all, when none is chosen.
func (s *Store) FirstSensor(ctx context.Context, tenant string) string {
	return s.sensors(scoped(ctx, tenant)).first()
}
