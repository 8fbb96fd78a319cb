package model

import (
	"fmt"
	"math"
)

// A sum is the sum over the devices of a cell.
type sum struct {
	cell
	from, before int // range in the layer
	n, numbers   int
	silent, held int
	fresh        int   // new devices
	incidents    int   // devices with open ones
	severity     uint8 // the greatest of these
	total        float64
	min, max     float64
	lat, lon     float64
	box          [4]float32
	one          int // the last device
}

// sum sums a cell at a time.
func (l *layer) sum(c cell, of *selection, now uint32) sum {
	s := sum{cell: c, min: math.Inf(1), max: math.Inf(-1), box: [4]float32{180, 90, -180, -90}}
	s.from, s.before = c.within(l.codes)
	for i := s.from; i < s.before; i++ {
		if !of.includes(l.devices[i]) {
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
		if severity := severityIn(l.flags[i]); severity > 0 {
			s.incidents++
			s.severity = max(s.severity, severity)
		}
		switch flags := l.flags[i]; {
		case flags&isRevoked != 0:
		case flags&isHeld != 0:
			s.held++
		case l.due[i] == 0 && now > 0:
			s.fresh++
		case l.due[i] < now:
			s.silent++
		}
	}
	return s
}

// crowded reports whether the devices lie so close together that their marks would cover each other. At street
// level they are shown one by one all the same, and so are states, which have no mean.
func (s *sum) crowded(zoom float64) bool {
	const mark, street = 10, 17 // pixels, and a zoom
	if s.n < 2 || s.numbers == 0 || zoom >= street {
		return false
	}
	degrees := mark * 360 / math.Exp2(zoom+worldPixels)
	return float64(s.box[2]-s.box[0]) < degrees && float64(s.box[3]-s.box[1]) < degrees
}

// splits is how often a cell is divided to separate crowds: down to 8 pixels.
const splits = 3

// split divides cells that have several devices but are not crowded, because a part may be crowded.
func (l *layer) split(sums []sum, zoom float64, of *selection, now uint32) (all []sum) {
	for range splits {
		all = make([]sum, 0, 2*len(sums))
		for _, s := range sums {
			if s.n == 1 || s.crowded(zoom) || s.level >= levels {
				all = append(all, s)
				continue
			}
			for i := range uint32(4) {
				if part := l.sum(cell{s.level + 1, 2*s.x + i%2, 2*s.y + i/2}, of, now); part.n > 0 {
					all = append(all, part)
				}
			}
		}
		sums = all
	}
	return sums
}

// cluster returns the sum for the map. Its ID has a slash, which no device ID has.
func (s *sum) cluster() Cluster {
	n := float64(s.n)
	c := Cluster{ID: fmt.Sprintf("z%d/%d/%d", s.level, s.x, s.y), N: s.n, Lat: round(s.lat / n), Lon: round(s.lon / n),
		New: s.fresh, Silent: s.silent, Held: s.held, Incidents: s.incidents, Severity: severityText(s.severity)}
	for i, degrees := range s.box {
		c.BBox[i] = round(float64(degrees))
	}
	if s.numbers > 0 {
		mean := s.total / float64(s.numbers)
		if math.IsInf(mean, 0) { // the sum overflowed
			mean = s.min/2 + s.max/2
		}
		c.Numbers, c.Mean, c.Min, c.Max = s.numbers, &mean, &s.min, &s.max
	}
	return c
}

// round rounds degrees to about a metre.
func round(degrees float64) float64 { return math.Round(degrees*1e5) / 1e5 }
