package main

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/simplify"

	"furrow/worker/dashboard/web/internal/earth"
)

// coarse is the tolerance of simplification in degrees: about 2 km, less than a pixel at the zooms that this
// scale is made for.
const coarse = 0.02

// outlines cuts a topology at the 180th meridian. Each shared line is simplified once, so that neighbours still
// meet.
func outlines(t topology) earth.Outlines {
	thin := make([]orb.LineString, len(t.lines))
	for i, l := range t.lines {
		thin[i] = simplify.DouglasPeucker(coarse).LineString(l.Clone())
	}
	var o earth.Outlines
	for _, ring := range t.land {
		for _, piece := range split(unroll(join(thin, ring))) {
			if l := grains(orb.LineString(piece)); len(l) > 3 {
				o.Land = append(o.Land, l[:len(l)-1])
			}
		}
	}
	for _, i := range t.borders {
		for _, piece := range split(unroll(thin[i])) {
			if l := grains(piece); len(l) > 1 {
				o.Borders = append(o.Borders, l)
			}
		}
	}
	order(o.Land)
	order(o.Borders)
	return o
}

func join(lines []orb.LineString, ring []int) orb.LineString {
	var all orb.LineString
	for _, i := range ring {
		l := lines[max(i, ^i)]
		if i < 0 {
			l = l.Clone()
			l.Reverse()
		}
		if len(all) > 0 {
			l = l[1:] // repeats the last point
		}
		all = append(all, l...)
	}
	return all
}

// unroll continues a line beyond 180 degrees where it jumps to the other side. A ring around the south pole does
// not return to its start, so it is closed over the pole.
func unroll(l orb.LineString) orb.LineString {
	l = l.Clone()
	turn, before := 0.0, 0.0
	for i := range l {
		lon := l[i][0]
		switch {
		case i > 0 && lon-before > 180:
			turn -= 360
		case i > 0 && lon-before < -180:
			turn += 360
		}
		before = lon
		l[i][0] = lon + turn
	}
	if first, last := l[0], l[len(l)-1]; math.Abs(first[0]-last[0]) > 180 {
		l = append(l, orb.Point{last[0], -90}, orb.Point{first[0], -90}, first)
	}
	return l
}

// split cuts an unrolled line or ring at the 180th meridian.
func split(l orb.LineString) []orb.LineString {
	var pieces []orb.LineString
	for turn := -2.0; turn <= 2; turn++ {
		world := orb.Bound{Min: orb.Point{turn*360 - 180, -90}, Max: orb.Point{turn*360 + 180, 90}}
		if !l.Bound().Intersects(world) {
			continue
		}
		var cut []orb.LineString
		if l[0] == l[len(l)-1] {
			cut = append(cut, orb.LineString(clip.Ring(world, orb.Ring(l.Clone()))))
		} else {
			cut = clip.LineString(world, l.Clone())
		}
		for _, piece := range cut {
			for i := range piece {
				piece[i][0] -= turn * 360
			}
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

// grains rounds a line to the grid of outlines and drops repeated points.
func grains(l orb.LineString) earth.Line {
	var all earth.Line
	for _, p := range l {
		q := [2]int32{int32(math.Round(p[0] * earth.Grain)), int32(math.Round(p[1] * earth.Grain))}
		if len(all) == 0 || all[len(all)-1] != q {
			all = append(all, q)
		}
	}
	return all
}

// order sorts lines by place: differences are small, and the file does not depend on the order of its source.
func order(lines []earth.Line) {
	const cell = 10 * earth.Grain
	key := func(l earth.Line) [2]int { return [2]int{int(l[0][1]) / cell, int(l[0][0]) / cell} }
	slices.SortStableFunc(lines, func(a, b earth.Line) int {
		if ka, kb := key(a), key(b); ka != kb {
			return slices.Compare(ka[:], kb[:])
		}
		return slices.CompareFunc(a, b, func(p, q [2]int32) int { return slices.Compare(p[:], q[:]) })
	})
}
