package latest

import (
	"errors"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// A state with the time of a reading without values has a version of its own, so that others stay as they were.
const (
	stateVersion = 2
	heardVersion = 3
)

// Flags of a value in a state.
const (
	isState = 1 << iota
	isDoubtful
)

// encode writes the floor and the values by sensor. Their times are written relative to the newest.
func (v *values) encode() []byte {
	newest, size := tables.Ticks(0), 16
	for i := range v.all {
		newest = max(newest, v.all[i].key.Ticks)
		size += len(v.all[i].Sensor) + len(v.all[i].key.Suffix) + len(v.all[i].State) + 21
	}
	version := byte(stateVersion)
	if v.hasHeard {
		version = heardVersion
	}
	b := append(make([]byte, 0, size), version)
	if b = pack.Int(b, int64(newest)); v.hasFloor {
		b = pack.Text(pack.Text(pack.Int(b, 1), v.floor.key.String()), v.floor.Sensor)
	} else {
		b = pack.Int(b, 0)
	}
	b = pack.Int(b, len(v.all))
	for i := range v.all {
		b = v.all[i].append(b, newest)
	}
	if v.hasHeard {
		b = pack.Int(b, int64(v.heard))
	}
	return b
}

func (v *value) append(b []byte, newest tables.Ticks) []byte {
	flags := 0
	if v.Is == fold.State {
		flags |= isState
	}
	if v.Doubtful {
		flags |= isDoubtful
	}
	b = pack.Int(pack.Text(b, v.Sensor), int64(newest-v.key.Ticks))
	b = pack.Int(pack.Text(b, v.key.Suffix), flags)
	if v.Is == fold.State {
		return pack.Text(b, v.State)
	}
	return pack.Float(b, v.Number)
}

var errVersion = errors.New("its state has a version that this program does not know")

// decode reads a state. No bytes are the state of a device that was never folded.
func decode(b []byte) (*values, error) {
	v := &values{}
	if len(b) == 0 {
		return v, nil
	}
	if b[0] != stateVersion && b[0] != heardVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	newest := tables.Ticks(r.Int())
	if v.hasFloor = r.Int() == 1; v.hasFloor {
		var err error
		if v.floor.key, err = schema.ParseRowKey(r.Text()); err != nil {
			return nil, pack.ErrDamaged
		}
		v.floor.Sensor = r.Text()
	}
	n := r.Count()
	v.all = make([]value, 0, n)
	for range n {
		o := readValue(r, newest)
		if o.key.Ticks < 0 || o.key.Ticks > tables.MaxTicks || len(v.all) > 0 && bySensor(v.all[len(v.all)-1], o) >= 0 {
			return nil, pack.ErrDamaged
		}
		v.all = append(v.all, o)
		v.room += o.room()
	}
	if v.hasHeard = b[0] == heardVersion; v.hasHeard {
		if v.heard = tables.Ticks(r.Int()); v.heard < 0 || v.heard > tables.MaxTicks {
			return nil, pack.ErrDamaged
		}
	}
	return v, r.Err()
}

func readValue(r *pack.Reader, newest tables.Ticks) value {
	v := value{SensorValue: fold.SensorValue{Sensor: r.Text(), Is: fold.Number}}
	v.key = schema.RowKey{Ticks: newest - tables.Ticks(r.Int()), Suffix: r.Text()}
	flags := r.Int()
	v.Doubtful = flags&isDoubtful != 0
	if flags&isState != 0 {
		v.Is, v.State = fold.State, r.Text()
	} else {
		v.Number = r.Float()
	}
	return v
}
