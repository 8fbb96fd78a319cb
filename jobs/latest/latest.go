// Package latest folds readings into the newest value of each sensor of a device, and its time.
//
// A reading without values, such as a heartbeat, is kept by its time alone, while no value is newer.
//
// The output has the sensors whose newest value is at most 30 days older than the newest of the whole device. If there
// are more than fold.MaxSensors sensors, or more than fit the state, it has the newest by row key and name. It depends
// on the readings alone, not on their order or on how they were cut.
package latest

import (
	"fmt"
	"slices"
	"strings"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps the newest value of each sensor.
var Processor = &fold.Processor{
	Name:     "latest",
	Summary:  "the newest value of each sensor",
	Formats:  []int{1},
	MaxState: maxState,
	Tables:   []string{Table},
	// A fleet has at most one pipeline with latest.
	Acknowledges: true,
	New:          func() fold.Config { return &Config{} },
}

// Table is where newest values are, without the prefix of the fleet's names.
const Table = "latest"

// A Config is empty: there is nothing to configure.
type Config struct{}

// Check finds nothing wrong.
func (*Config) Check() error { return nil }

// Fold returns the fold.
func (*Config) Fold(fold.Setup) fold.Fold { return Fold{} }

// A Fold folds readings into newest values. Its zero is ready for use.
type Fold struct{}

var _ fold.Merging = Fold{}

// Fold keeps the newest value of each sensor: of two at one time, that of the greater row key. A device's output is one
// entity, which is never closed.
func (Fold) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	newest, err := decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("latest of %s: %w", d.Device, err)
	}
	changed := false
	for i := range samples {
		if len(samples[i].Values) == 0 {
			changed = newest.hearReading(samples[i].Key.Ticks) || changed
			continue
		}
		for _, m := range samples[i].Values {
			changed = newest.replace(value{samples[i].Key, m}) || changed
		}
		newest.trim()
	}
	if !changed {
		return fold.Result{State: newest.encode()}, nil
	}
	return newest.folded(d), nil
}

// Merge returns the values of base, and those of other from readings at or after from that are as new or newer.
func (Fold) Merge(d schema.Member, base, other []byte, from tables.Ticks) (fold.Result, error) {
	newest, err := decode(base)
	if err != nil {
		return fold.Result{}, fmt.Errorf("latest of %s: %w", d.Device, err)
	}
	added, err := decode(other)
	if err != nil {
		return fold.Result{}, fmt.Errorf("latest of %s, folded again: %w", d.Device, err)
	}
	if added.hasFloor && added.floor.key.Ticks >= from {
		newest.raise(added.floor)
	}
	if added.hasHeard && added.heard >= from {
		newest.hearReading(added.heard)
	}
	for _, v := range added.all {
		if v.key.Ticks >= from {
			newest.replace(v)
		}
	}
	newest.trim()
	return newest.folded(d), nil
}

// Below returns a state with the older values of some sensors.
func (Fold) Below(state []byte, before tables.Ticks, keep func(sensor string) bool) ([]byte, error) {
	old, err := decode(state)
	if err != nil {
		return nil, err
	}
	kept := &values{heard: old.heard, hasHeard: old.hasHeard && old.heard < before}
	for _, v := range old.all {
		if v.key.Ticks < before && keep(v.Sensor) {
			kept.replace(v)
		}
	}
	return kept.encode(), nil
}

// folded returns a new state with its whole output.
func (v *values) folded(d schema.Member) fold.Result {
	return fold.Result{State: v.encode(), Effects: []fold.Effect{{
		Output: fold.Output{
			Table:        Table,
			PartitionKey: schema.LatestPartition{Tenant: d.Tenant, Month: d.Month}.String(),
			RowKey:       string(d.Device),
		},
		Properties: v.properties(),
	}}}
}

// properties returns those of the output, ordered by name.
func (v *values) properties() []tables.Property {
	all := make([]tables.Property, 0, len(v.all)+1)
	newest := tables.Ticks(-1)
	for i, o := range v.all {
		newest = max(newest, o.key.Ticks)
		if v.superseded(i) {
			continue
		}
		all = append(all, tables.Property{Name: o.Sensor, Value: tables.String(Value{o.key.Ticks, o.SensorValue}.String())})
	}
	if v.hasHeard && v.heard > newest {
		all = append(all, tables.Property{Name: fold.HeardProperty, Value: tables.Int64(int64(v.heard))})
		slices.SortFunc(all, func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) })
	}
	return all
}
