package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs/latest"
)

// sensed are the sensors that the devices of a tenant have, by name.
type sensed []Sensor

// first returns the sensor to show when none is chosen: the number that most devices have, or else a state.
// Temperatures get a small preference, because everyone can read them on a map, and so do values with a unit: somebody
// has said what they mean.
func (all sensed) first() string {
	weight := func(s Sensor) float64 {
		w := float64(s.Devices)
		if s.Kind == "number" {
			w *= 1000
		}
		if strings.Contains(strings.ToLower(s.Name), "temperature") {
			w *= 1.2
		}
		if s.Unit != "" {
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

// shown returns the sensor to show of some devices when none is chosen: the first one of their tenant if any of them
// has it, and else the first one of these devices.
func (c *Census) shown(tenant string, has func(i int) bool) string {
	first, x := c.ofTenant(tenant).first(), c.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	usual, known := x.sensors.number[first]
	counts, numbers := map[uint16]int{}, map[uint16]int{}
	for i := range x.devices {
		if !has(i) {
			continue
		}
		for _, v := range x.devices[i].values {
			if known && v.sensor == uint16(usual) {
				return first
			}
			if counts[v.sensor]++; v.flags&isText == 0 {
				numbers[v.sensor]++
			}
		}
	}
	var all sensed
	for sensor, n := range counts {
		s := Sensor{Name: x.sensors.text(uint32(sensor)), Devices: n, Kind: "state"}
		if 2*numbers[sensor] >= n {
			s.Kind = "number"
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return cmp.Or(all.first(), first)
}

// A Census knows which sensors the devices of each tenant have, and refuses questions about others.
type Census struct {
	accounts *Accounts
	known    *memo[sensed] // by tenant
	open     bool          // there may be others; see since
}

// since returns a census for a question about the past of a tenant. It refuses no sensor where there may have been some
// that no newest value is of: they left these, or the tenant, with their device.
func (c *Census) since(tenant string, from time.Time) *Census {
	x := c.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	past := time.Since(from) > latest.MaxAge
	for _, tenants := range x.former {
		past = past || slices.ContainsFunc(tenants, func(t uint32) bool { return x.tenants.text(t) == tenant })
	}
	return &Census{c.accounts, c.known, past}
}

// List returns the sensors of a tenant's devices, or of all devices, by name.
func (c *Census) List(ctx context.Context, tenant string) (Sensors, error) {
	if _, err := c.accounts.tenantFor(ctx, tenant); err != nil {
		return Sensors{}, err
	}
	return Sensors{Sensors: append([]Sensor{}, c.OfTenant(ctx, tenant)...)}, nil
}

const (
	censusAge = 10 * time.Second
	maxCensus = 256
	// maxSamples limits the numbers that a sensor's scale is computed from.
	maxSamples = 5000
)

// OfTenant returns the sensors of a tenant's devices, or of all devices, as far as they are known.
func (c *Census) OfTenant(ctx context.Context, tenant string) []Sensor {
	return c.ofTenant(scoped(ctx, tenant))
}

func (c *Census) ofTenant(tenant string) sensed {
	all := c.known.get(tenant, func() sensed { return c.sensed(tenant) })
	if len(all) == 0 { // the first sensors are shown at once
		c.known.forget(tenant)
	}
	return all
}

func (c *Census) sensed(tenant string) sensed {
	x, configured := c.accounts.index, c.accounts.Configured()
	x.mu.RLock()
	defer x.mu.RUnlock()
	type tally struct {
		devices, numbers int
		samples          []float64
	}
	tallies := make([]tally, len(x.sensors.all))
	every := 1 + len(x.devices)/maxSamples
	for d := range x.of(tenant) {
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
		s := Sensor{Name: x.sensors.all[i], Kind: "state", Devices: t.devices, Unit: configured.unit(x.sensors.all[i])}
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
func (c *Census) checkSensor(tenant, sensor string) error {
	if sensor == "" || c.has(tenant, sensor) {
		return nil
	}
	var known []string
	for _, other := range c.ofTenant(tenant) {
		known = append(known, other.Name)
	}
	return unknownSensor(sensor, known)
}

// Has reports whether a device of a tenant, or of any, has a sensor. Until all values were read once, each may, and
// where a device has more than the index takes.
func (c *Census) Has(ctx context.Context, tenant, sensor string) bool {
	return c.has(scoped(ctx, tenant), sensor)
}

func (c *Census) has(tenant, sensor string) bool {
	if c.open || !c.accounts.complete() {
		return true
	}
	x := c.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	number, sensed := x.sensors.number[sensor]
	for d := range x.of(tenant) {
		if sensed && d.value(uint16(number)) != nil || x.lacks(d) {
			return true
		}
	}
	return false
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
