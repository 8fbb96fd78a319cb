package model

import (
	"fmt"
	"math"
)

// A sum is what the devices of a cell come to.
type sum struct {
	cell
	from, before int // in the layer
	n, numbers   int
	silent, held int
	total        float64
	min, max     float64
	lat, lon     float64
	box          [4]float32
	one          int // the last of them
}

// whose are the devices that are wanted: all, or a tenant's.
type whose struct {
	all    bool
	tenant uint16
}

// sum sums a cell. Who has sent nothing since the time of silence is silent, unless
// it may not send or is held.
func (l *layer) sum(c cell, of whose, silence uint32) sum {
	s := sum{cell: c, min: math.Inf(1), max: math.Inf(-1), box: [4]float32{180, 90, -180, -90}}
	s.from, s.before = c.within(l.codes)
	for i := s.from; i < s.before; i++ {
		if !of.all && l.tenants[i] != of.tenant {
			continue
		}
		s.n, s.one = s.n+1, i
		lat, lon := l.lat[i], l.lon[i]
		s.lat += float64(lat)
		s.lon += float64(lon)
		s.box = [4]float32{min(s.box[0], lon), min(s.box[1], lat), max(s.box[2], lon), max(s.box[3], lat)}
		if v := l.numbers[i]; v == v {
			s.numbers++
			s.total += v
			s.min, s.max = min(s.min, v), max(s.max, v)
		}
		switch flags := l.flags[i]; {
		case flags&isRevoked != 0:
		case flags&isHeld != 0:
			s.held++
		case l.newest[i] < silence:
			s.silent++
		}
	}
	return s
}

// crowded tells whether the marks of the devices would hide each other, however few
// are in view: they lie within a mark. Where nobody can zoom in any further they are
// shown one by one all the same, as are states, which have no mean.
func (s *sum) crowded(zoom float64) bool {
	const mark, street = 10, 17 // pixels, and a zoom
	if s.n < 2 || s.numbers == 0 || zoom >= street {
		return false
	}
	degrees := mark * 360 / math.Exp2(zoom+worldPixels)
	return float64(s.box[2]-s.box[0]) < degrees && float64(s.box[3]-s.box[1]) < degrees
}

// parts is into how many cells, in each direction, one is cut to take crowds apart that
// are in it: 2^parts, which are 8 pixels wide then.
const parts = 3

// apart cuts the cells that are no crowd, and have several devices, into smaller ones
// that may be.
func (l *layer) apart(sums []sum, zoom float64, of whose, silence uint32) (all []sum) {
	for range parts {
		all = make([]sum, 0, 2*len(sums))
		for _, s := range sums {
			if s.n == 1 || s.crowded(zoom) || s.level >= levels {
				all = append(all, s)
				continue
			}
			for i := range uint32(4) {
				if part := l.sum(cell{s.level + 1, 2*s.x + i%2, 2*s.y + i/2}, of, silence); part.n > 0 {
					all = append(all, part)
				}
			}
		}
		sums = all
	}
	return sums
}

// cluster is the sum as maps show it. No device has an id with a slash.
func (s *sum) cluster() Cluster {
	n := float64(s.n)
	c := Cluster{ID: fmt.Sprintf("z%d/%d/%d", s.level, s.x, s.y), N: s.n, Lat: round(s.lat / n), Lon: round(s.lon / n),
		Silent: s.silent, Held: s.held, BBox: Box{round(float64(s.box[0])), round(float64(s.box[1])), round(float64(s.box[2])), round(float64(s.box[3]))}}
	if s.numbers > 0 {
		mean := s.total / float64(s.numbers)
		if math.IsInf(mean, 0) { // of numbers so large that their sum is none
			mean = (s.min + s.max) / 2
		}
		c.Numbers, c.Mean, c.Min, c.Max = s.numbers, &mean, &s.min, &s.max
	}
	return c
}

// round cuts degrees off where a map of the whole world has no more to show: a
// metre.
func round(degrees float64) float64 { return math.Round(degrees*1e5) / 1e5 }
