package latest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// values are the newest values of a device. A sensor can have two of them, the newest short one and the newest long
// one, and the newer one counts.
//
// The older one is kept because each takes a fixed amount of room, which depends on its name and its length class
// alone. So the values newer than a given one never take less room later, whatever else a device sends, and a value
// that had to go would never fit again. Therefore the order in which readings are folded makes no difference, and
// neither does merging states.
type values struct {
	all  []value // by sensor, the short one first
	room int     // maximum room of all

	// floor is the newest value that had to go for lack of room. It and older ones would not fit if they came again, so
	// they are not taken.
	floor    value
	hasFloor bool

	heard    tables.Ticks // of the newest reading without values
	hasHeard bool
}

type value struct {
	key schema.RowKey // row key of its reading
	fold.SensorValue
}

func (v *value) long() bool { return fold.IsLong(v.key, v.State) }

func (v *value) room() int { return fold.Room(v.Sensor, v.long()) }

// Bounds of the values of a device.
const (
	maxState = 128 << 10        // bytes of the encoded state
	maxRoom  = maxState - 1<<10 // the floor and the lengths take the rest
)

// MaxAge is how much older than a device's newest value the newest one of a sensor is when the sensor leaves.
const MaxAge = 30 * 24 * time.Hour

// bySensor orders values by sensor, the short one first.
func bySensor(a, b value) int {
	if c := strings.Compare(a.Sensor, b.Sensor); c != 0 || a.long() == b.long() {
		return c
	}
	if a.long() {
		return 1
	}
	return -1
}

// byAge orders values from the newest to the oldest.
func byAge(a, b value) int {
	return cmp.Or(b.key.Compare(a.key), strings.Compare(b.Sensor, a.Sensor))
}

// replace replaces the value of n's sensor by n, and reports whether it did. Of two values of one reading the later one
// counts, because the reading was then read under other settings.
func (v *values) replace(n value) bool {
	if v.hasFloor && byAge(n, v.floor) >= 0 {
		return false
	}
	i, found := slices.BinarySearchFunc(v.all, n, bySensor)
	if found && n.key.Compare(v.all[i].key) < 0 {
		return false
	}
	if found {
		v.all[i] = n
	} else {
		v.all = slices.Insert(v.all, i, n)
		v.room += n.room()
	}
	if o := v.other(i); o >= 0 && v.all[o].key == n.key {
		v.room -= v.all[o].room()
		v.all = slices.Delete(v.all, o, o+1)
	}
	return true
}

// hearReading takes the time of a reading without values, and reports whether it is the newest one.
func (v *values) hearReading(at tables.Ticks) bool {
	if v.hasHeard && at <= v.heard {
		return false
	}
	v.heard, v.hasHeard = at, true
	return true
}

// other returns the index of the second value of the sensor at i, or -1.
func (v *values) other(i int) int {
	for _, o := range [...]int{i - 1, i + 1} {
		if o >= 0 && o < len(v.all) && v.all[o].Sensor == v.all[i].Sensor {
			return o
		}
	}
	return -1
}

// superseded reports whether the sensor at i has a newer value.
func (v *values) superseded(i int) bool {
	o := v.other(i)
	return o >= 0 && v.all[o].key.Compare(v.all[i].key) > 0
}

// raise drops everything that is not newer than a floor.
func (v *values) raise(floor value) {
	if v.hasFloor && byAge(floor, v.floor) >= 0 {
		return
	}
	v.floor, v.hasFloor = floor, true
	v.all = slices.DeleteFunc(v.all, func(o value) bool {
		gone := byAge(o, floor) >= 0
		if gone {
			v.room -= o.room()
		}
		return gone
	})
}

// trim drops values that are too old, and the oldest of too many.
func (v *values) trim() {
	if len(v.all) == 0 {
		return
	}
	first := v.all[0].key
	newest := first
	for i := range v.all {
		if k := v.all[i].key; k != newest && k.Compare(newest) > 0 {
			newest = k
		}
		if k := v.all[i].key; k.Ticks < first.Ticks {
			first = k
		}
	}
	oldest := newest.Ticks.Add(-MaxAge)
	v.hasFloor = v.hasFloor && v.floor.key.Ticks >= oldest
	if first.Ticks >= oldest && v.room <= fold.MaxRoom && len(v.all) <= fold.MaxSensors {
		return
	}
	slices.SortFunc(v.all, byAge)
	sensors := make(map[string]bool, len(v.all))
	room, keep := 0, 0
	for i := range v.all {
		room += v.all[i].room()
		sensors[v.all[i].Sensor] = true
		if v.all[i].key.Ticks < oldest {
			break
		}
		if room > fold.MaxRoom || len(sensors) > fold.MaxSensors {
			v.floor, v.hasFloor = v.all[i], true
			break
		}
		v.room, keep = room, i+1
	}
	clear(v.all[keep:])
	v.all = v.all[:keep]
	slices.SortFunc(v.all, bySensor)
}
