package model

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// A ground is where devices are, in the order of the grid. It does not change.
type ground struct {
	placed   uint64 // the index had when it was made
	codes    []uint64
	devices  []int32
	lat, lon []float32 // for sums: a device's own are in the index
}

// A layer is what the devices of a ground say of a sensor. It does not change.
type layer struct {
	*ground
	version uint64
	numbers []float64 // NaN where a device has none
	newest  []uint32
	flags   []uint8
	tenants []uint16
}

// grounds makes layers, and keeps those that were asked for lately.
type grounds struct {
	index *index
	every time.Duration // however fast the index changes

	mu     sync.Mutex
	ground *ground
	layers map[string]*kept
}

type kept struct {
	layer *layer
	made  time.Time
	used  time.Time
}

const (
	mostLayers = 16
	layerFor   = time.Second
)

// of is the layer of a sensor.
func (g *grounds) of(sensor string) *layer {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	k := g.layers[sensor]
	if k != nil {
		k.used = now
		if now.Sub(k.made) < g.every || k.layer.version == g.index.current() {
			return k.layer
		}
	}
	if g.layers == nil {
		g.layers = map[string]*kept{}
	}
	for len(g.layers) >= mostLayers && k == nil {
		g.forget()
	}
	k = &kept{layer: g.make(sensor), made: now, used: now}
	g.layers[sensor] = k
	return k.layer
}

func (g *grounds) forget() {
	oldest := ""
	for name, k := range g.layers {
		if oldest == "" || k.used.Before(g.layers[oldest].used) {
			oldest = name
		}
	}
	delete(g.layers, oldest)
}

func (x *index) current() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.version
}

func (g *grounds) make(sensor string) *layer {
	x := g.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	if g.ground == nil || g.ground.placed != x.placed {
		g.ground = x.ground()
	}
	n := len(g.ground.devices)
	l := &layer{ground: g.ground, version: x.version, numbers: make([]float64, n), newest: make([]uint32, n), flags: make([]uint8, n), tenants: make([]uint16, n)}
	number, known := x.sensors.number[sensor]
	for i, at := range l.devices {
		d := &x.devices[at]
		l.newest[i], l.flags[i], l.tenants[i] = d.newest, d.flags, d.tenant
		l.numbers[i] = math.NaN()
		if !known {
			continue
		}
		if v := d.value(uint16(number)); v != nil && v.flags&isText == 0 {
			l.numbers[i] = v.number
		}
	}
	return l
}

// ground is made with the lock held.
func (x *index) ground() *ground {
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
	g := &ground{placed: x.placed, codes: make([]uint64, len(places)), devices: make([]int32, len(places)),
		lat: make([]float32, len(places)), lon: make([]float32, len(places))}
	for i, p := range places {
		d := &x.devices[p.at]
		g.codes[i], g.devices[i], g.lat[i], g.lon[i] = p.code, p.at, float32(d.lat), float32(d.lon)
	}
	return g
}
