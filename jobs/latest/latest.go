// Package latest folds readings into the newest value of each sensor of a
// device, and the time it is from.
package latest

import (
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/jobs/internal/pack"
	"furrow/tables"
)

// A Fold is the processor. It needs no configuration: its zero is ready for use.
type Fold struct{}

var _ jobs.Fold = Fold{}

// Fold keeps the newest value of each sensor: of one time, that of the greater
// row key. A device's output is one entity, which is never closed.
func (Fold) Fold(d tables.Member, state []byte, samples []jobs.Sample) (jobs.Folded, error) {
	newest, err := decode(state)
	if err != nil {
		return jobs.Folded{}, fmt.Errorf("latest of %s: %w", d.Device, err)
	}
	var out jobs.Folded
	changed := false
	for _, s := range samples {
		for _, m := range s.Values {
			took, full := newest.take(s.Key, m)
			changed = changed || took
			if full {
				out.Refused = append(out.Refused, jobs.Refusal{Row: s.Key.String(), Sensor: m.Sensor,
					Reason: fmt.Sprintf("its device has %d other sensors already, which is the most that is kept", jobs.MaxSensors)})
			}
		}
	}
	out.State = newest.encode()
	if changed {
		out.Effects = []jobs.Effect{newest.effect(d)}
	}
	return out, nil
}

// values are the newest values, in the order in which their sensors appeared.
type values []value

type value struct {
	key tables.RowKey // of the reading it is from
	jobs.Measured
}

// take takes a value in where it is newer, and tells whether it did, and
// whether there was no room for its sensor.
func (v *values) take(key tables.RowKey, m jobs.Measured) (took, full bool) {
	i := slices.IndexFunc(*v, func(o value) bool { return o.Sensor == m.Sensor })
	switch {
	case i < 0 && len(*v) == jobs.MaxSensors:
		return false, true
	case i < 0:
		*v = append(*v, value{key, m})
		return true, false
	case key.Compare((*v)[i].key) < 0:
		return false, false
	}
	(*v)[i] = value{key, m}
	return true, false
}

func (v values) effect(d tables.Member) jobs.Effect {
	e := jobs.Effect{Output: jobs.Output{
		Kind:         jobs.Latest,
		PartitionKey: tables.LatestPartition{Tenant: d.Tenant, Month: d.Month}.String(),
		RowKey:       string(d.Device),
	}}
	for _, o := range v {
		e.Properties = append(e.Properties, tables.Property{Name: o.Sensor, Value: tables.String(Value{o.key.Ticks, o.Measured}.String())})
	}
	return e
}

const stateVersion = 1

// Flags of a value in a state.
const (
	isState = 1 << iota
	isDoubtful
)

func (v values) encode() []byte {
	b := pack.Int([]byte{stateVersion}, len(v))
	for _, o := range v {
		flags := 0
		if o.Is == jobs.State {
			flags |= isState
		}
		if o.Doubtful {
			flags |= isDoubtful
		}
		b = pack.Text(pack.Text(b, o.Sensor), o.key.String())
		b = pack.Int(b, flags)
		if o.Is == jobs.State {
			b = pack.Text(b, o.State)
		} else {
			b = pack.Float(b, o.Number)
		}
	}
	return b
}

func decode(b []byte) (values, error) {
	if b == nil {
		return nil, nil
	}
	if len(b) == 0 || b[0] != stateVersion {
		return nil, fmt.Errorf("its state is of a version that this program does not know")
	}
	r := pack.NewReader(b[1:])
	var v values
	for range r.Count() {
		o := value{Measured: jobs.Measured{Sensor: r.Text(), Is: jobs.Number}}
		key, err := tables.ParseRowKey(r.Text())
		if err != nil {
			return nil, pack.ErrDamaged
		}
		o.key = key
		flags := r.Int()
		o.Doubtful = flags&isDoubtful != 0
		if flags&isState != 0 {
			o.Is, o.State = jobs.State, r.Text()
		} else {
			o.Number = r.Float()
		}
		v = append(v, o)
	}
	return v, r.Err()
}
