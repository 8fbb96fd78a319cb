package model

import (
	"math"
	"slices"
)

// The grid divides the world into squares of degrees, each of them into four, and so on: at level l, a square is
// 360/2^l degrees wide. The code of a place is the path to its smallest square (a Morton code), so the places
// of any square are neighbours in the order of codes.
const (
	levels      = 31
	maxCells    = 4096 // per view; larger squares are used for a larger view
	cellPixels  = 6    // a cell is 2^6 pixels wide where the world, at zoom 0, is 2^8
	worldPixels = 8
)

func code(lat, lon float64) uint64 {
	return spread(ordinate(lon+180)) | spread(ordinate(lat+90))<<1
}

// ordinate scales degrees, from the west or the south, so that 360 degrees are 31 bits.
func ordinate(degrees float64) uint32 {
	const limit = 1<<levels - 1
	return uint32(max(0, min(limit, degrees/360*(1<<levels))))
}

// spread inserts a zero before each bit.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// A Box is a part of the world: west, south, east and north, in degrees. If west is greater than east, it crosses
// the 180th meridian.
type Box [4]float64

func World() Box { return Box{-180, -90, 180, 90} }

// OnEarth reports whether both corners of the box are places: numbers within the world.
func (b Box) OnEarth() bool {
	return math.Abs(b[0]) <= 180 && math.Abs(b[1]) <= 90 && math.Abs(b[2]) <= 180 && math.Abs(b[3]) <= 90
}

// parts returns one or two boxes that do not cross the 180th meridian.
func (b Box) parts() []Box {
	if b[0] <= b[2] {
		return []Box{b}
	}
	return []Box{{b[0], b[1], 180, b[3]}, {-180, b[1], b[2], b[3]}}
}

type cell struct {
	level int
	x, y  uint32
}

func (c cell) codes() (from, before uint64) {
	below := 2 * (levels - c.level)
	first := spread(c.x) | spread(c.y)<<1
	return first << below, (first + 1) << below
}

// cells returns the cells that a box touches, at the level that suits a zoom.
func (b Box) cells(zoom float64) []cell {
	level := int(math.Round(zoom)) + worldPixels - cellPixels
	level = max(0, min(levels, level))
	for ; level > 0 && b.count(level) > maxCells; level-- {
	}
	var all []cell
	seen := map[cell]bool{} // two parts of a box may touch the same cell
	for _, part := range b.parts() {
		x0, y0, x1, y1 := part.span(level)
		for y := y0; y <= y1; y++ {
			for x := x0; x <= x1; x++ {
				if c := (cell{level, x, y}); !seen[c] {
					seen[c] = true
					all = append(all, c)
				}
			}
		}
	}
	return all
}

func (b Box) span(level int) (x0, y0, x1, y1 uint32) {
	down := levels - level
	return ordinate(b[0]+180) >> down, ordinate(b[1]+90) >> down, ordinate(b[2]+180) >> down, ordinate(b[3]+90) >> down
}

func (b Box) count(level int) (n int) {
	for _, part := range b.parts() {
		x0, y0, x1, y1 := part.span(level)
		n += int(x1-x0+1) * int(y1-y0+1)
	}
	return n
}

// within returns the range of the cell's codes among sorted codes.
func (c cell) within(codes []uint64) (from, before int) {
	first, after := c.codes()
	from, _ = slices.BinarySearch(codes, first)
	n, _ := slices.BinarySearch(codes[from:], after)
	return from, from + n
}
