package outliers

import (
	"math"
	"slices"
	"time"
)

// The places of measures.
const (
	growing = iota
	newest
	varying
)

// A measure is a number of each member of a group that is compared.
type measure struct {
	kind    Kind
	of      func(*group) []float64
	noise   float64                    // the spread is at least this part of what values vary in a window
	confirm func(g *group, i int) bool // whether a member really is what its number says
}

// measures returns all, by their places. The noise of means is that of single values, divided: a mean of 60 normally
// distributed values is off by an eighth of their standard deviation, and they vary by 4.6 of them.
func measures() [3]measure {
	return [3]measure{
		growing: {Drifting, (*group).growth, 1.0 / 16 / (Windows - 1), (*group).grows},
		newest:  {Off, (*group).newest, 1.0 / 4, nil},
		varying: {Noisy, (*group).variation, 1.0 / 16, (*group).varies},
	}
}

// newest returns the newest values. One that is much older than those of the others says nothing of now.
func (g *group) newest() (all []float64) {
	var ages, times []float64
	for _, m := range g.members {
		times = append(times, float64(m.At.UnixMilli()))
	}
	usual := median(slices.Clone(times))
	for _, t := range times {
		ages = append(ages, math.Abs(t-usual))
	}
	old := usual - 6*median(ages) - float64(time.Minute.Milliseconds())
	for i, m := range g.members {
		if times[i] < old {
			all = append(all, math.NaN())
			continue
		}
		all = append(all, m.Value)
	}
	return all
}

// fullWindow is how many values of a window say how much they vary.
const fullWindow = 5

// lastVarying is in how many windows a noisy device varies.
const lastVarying = 3

// variation returns what values vary within one of the last windows: the median of these.
func (g *group) variation() (all []float64) {
	for _, m := range g.members {
		var last []float64
		for _, w := range m.Windows[Windows-lastVarying:] {
			if w.Count >= fullWindow {
				last = append(last, w.Max-w.Min)
			}
		}
		if len(last) < lastVarying {
			all = append(all, math.NaN())
			continue
		}
		all = append(all, median(last))
	}
	return all
}

// varies reports whether a member varies three times as much as others in each of the last windows.
func (g *group) varies(i int) bool {
	for _, w := range g.members[i].Windows[Windows-lastVarying:] {
		if w.Max-w.Min < 3*g.scales[varying].median {
			return false
		}
	}
	return g.scales[varying].median > 0
}

// line is what the distance of a member's means from those of its neighbours does.
type line struct {
	slope float64 // per window
	fits  float64 // share of its variance that the slope explains
	n     int
}

// lineOf fits a line to distances from the medians of windows.
func lineOf(m member, medians [Windows]float64) (l line) {
	var x, y, xx, xy, yy float64
	for k, w := range m.Windows {
		if w.Count == 0 {
			continue
		}
		d, at := w.Mean-medians[k], float64(k)
		l.n++
		x, y, xx, xy, yy = x+at, y+d, xx+at*at, xy+at*d, yy+d*d
	}
	n := float64(l.n)
	across, up := xy-x*y/n, yy-y*y/n
	l.slope = across / (xx - x*x/n)
	l.fits = l.slope * across / up
	return l
}

// mediansOf returns the medians of the means of the members' windows; NaN where none has any.
func mediansOf(members []member) (all [Windows]float64) {
	for k := range all {
		means := []float64{}
		for _, m := range members {
			if m.Windows[k].Count > 0 {
				means = append(means, m.Windows[k].Mean)
			}
		}
		all[k] = median(means)
	}
	return all
}

// growth returns by how much the distance from the neighbours grows per window.
func (g *group) growth() (all []float64) {
	for _, m := range g.members {
		l := lineOf(m, g.medians)
		if l.n < Windows-1 {
			l.slope = math.NaN()
		}
		all = append(all, l.slope)
	}
	return all
}

// grows reports whether the distance of a member grows evenly: a step explains less than 0.8 of its variance.
func (g *group) grows(i int) bool { return lineOf(g.members[i], g.medians).fits >= 0.9 }

// lastStuck is for how many windows a stuck device has one value.
const lastStuck = 4

// stuck reports whether a member has one value while those of others change.
func (g *group) stuck(i int) bool {
	m := g.members[i]
	for _, w := range m.Windows[Windows-lastStuck:] {
		if w.Count == 0 || w.Min != m.Value || w.Max != m.Value {
			return false
		}
	}
	others := g.known - 1
	return others >= fewest-1 && 10*g.moving >= 9*others
}

// moves reports whether a sensor's value changed in each of the windows in which a stuck one's did not.
func (s *Sensor) moves() (moves, known bool) {
	for k := Windows - lastStuck; k < Windows; k++ {
		w, before := s.Windows[k], s.Windows[k-1]
		if w.Count == 0 {
			return false, false
		}
		if w.Min == w.Max && (before.Count == 0 || before.Mean == w.Mean) {
			return false, true
		}
	}
	return true, true
}
