package model

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A ground is where devices are, sorted by the codes of the grid. It never changes.
type ground struct {
	placed   uint64 // version of the index's positions
	codes    []uint64
	devices  []int32
	lat, lon []float32 // for sums; the index has the exact position
}

// A layer is what the devices of a ground say about a sensor. It never changes.
type layer struct {
	*ground
	numbers []float64 // NaN: the device has none
	due     []uint32  // as of devices
	flags   []uint8

	doubtful []bool // not in the scale
}

const (
	maxLayers = 16
	layerAge  = time.Second
)

// layer returns the layer of a sensor.
func (ms *Maps) layer(sensor string) *layer {
	return ms.layers.get(sensor, func() *layer {
		x := ms.accounts.index
		x.mu.RLock()
		defer x.mu.RUnlock()
		if ms.ground == nil || ms.ground.placed != x.placed { // the lock of layers is held
			ms.ground = x.ground()
		}
		n := len(ms.ground.devices)
		k := &layer{ground: ms.ground, numbers: make([]float64, n), due: make([]uint32, n), flags: make([]uint8, n),
			doubtful: make([]bool, n)}
		number, known := x.sensors.number[sensor]
		for i, at := range k.devices {
			d := &x.devices[at]
			k.due[i], k.flags[i] = d.due(), d.flags
			k.numbers[i] = math.NaN()
			if !known {
				continue
			}
			if v := d.value(uint16(number)); v != nil && v.flags&isText == 0 {
				k.numbers[i], k.doubtful[i] = v.number, v.flags&isDoubtful != 0
			}
		}
		return k
	})
}

// ground returns the ground of all placed devices.
func (x *roster) ground() *ground {
	type place struct {
		code uint64
		at   int32
	}
	places := make([]place, 0, len(x.devices))
	for i := range x.devices {
		if d := &x.devices[i]; d.flags&isPlaced != 0 {
			places = append(places, place{code(d.lat, d.lon), int32(i)})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.at, b.at)) })
	n := len(places)
	g := &ground{placed: x.placed, codes: make([]uint64, n), devices: make([]int32, n), lat: make([]float32, n),
		lon: make([]float32, n)}
	for i, p := range places {
		d := &x.devices[p.at]
		g.codes[i], g.devices[i], g.lat[i], g.lon[i] = p.code, p.at, float32(d.lat), float32(d.lon)
	}
	return g
}
