package model

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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
	at, err := s.watch.await(ctx)
	if at.IsZero() && err != nil {
		return Sensors{}, Read{}, err
	}
	return Sensors{Sensors: append([]Sensor{}, s.sensors(tenant)...)}, s.polled(at), nil
}

// A census keeps the sensors of each tenant for a while.
type census struct {
	mu   sync.Mutex
	kept *simplelru.LRU[string, counted]
}

func newCensus() census {
	kept, _ := simplelru.NewLRU[string, counted](maxCensus, nil) // fails only for a size below 1
	return census{kept: kept}
}

type counted struct {
	at      time.Time
	version uint64
	sensors sensed
}

const (
	censusAge = 10 * time.Second // colours that change faster would be hard to read
	maxCensus = 256
	// maxSamples limits the numbers that a sensor's scale is computed from.
	maxSamples = 5000
)

func (s *Store) sensors(tenant string) sensed {
	c := &s.index.census
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept.Get(tenant)
	version := s.index.current()
	// The first sensors are shown at once.
	if ok && (k.version == version || time.Since(k.at) < censusAge && len(k.sensors) > 0) {
		return k.sensors
	}
	k = counted{time.Now(), version, nil}
	if of, known := s.index.only(tenant); known {
		k.sensors = s.index.sensed(of)
	}
	for i := range k.sensors {
		k.sensors[i].Unit = s.unit(k.sensors[i].Name)
	}
	c.kept.Add(tenant, k)
	return k.sensors
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
		if n := len(t.samples); n > 0 && s.Kind == "number" {
			slices.Sort(t.samples)
			s.Min, s.Max = &t.samples[n*2/100], &t.samples[(n-1)-(n-1)*2/100]
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// FirstSensor returns the sensor that is shown of a tenant's devices, or of all, when none is chosen.
func (s *Store) FirstSensor(tenant string) string { return s.sensors(tenant).first() }
