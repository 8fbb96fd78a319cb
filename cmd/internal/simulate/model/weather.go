package model

import "math"

// A Weather is what the sky does. Neighbouring places have about the same.
type Weather struct{ Seed uint64 }

// Kinds of fields.
const (
	clouds = iota + 1
	showers
	fronts
)

// A grain says how fine a field is: how far one has to go until it is another.
type grain struct {
	kind    uint64
	degrees float64 // divides 360
	hours   float64
}

// drift is how fast weather moves eastwards, in degrees of longitude an hour.
const drift = 0.3

// at is a number from 0 to 1: smooth noise between random points on a grid of
// latitude, longitude and time.
func (w Weather) at(g grain, lat, lon, hours float64) float64 {
	x, y, z := (lon+180-drift*hours)/g.degrees, (lat+90)/g.degrees, hours/g.hours
	x0, y0, z0 := math.Floor(x), math.Floor(y), math.Floor(z)
	fx, fy, fz := smooth(x-x0), smooth(y-y0), smooth(z-z0)
	around := int64(360 / g.degrees)
	var sum float64
	for corner := range 8 {
		dx, dy, dz := corner&1, corner>>1&1, corner>>2
		column := ((int64(x0)+int64(dx))%around + around) % around
		h := Hash(w.Seed, g.kind, uint64(column), uint64(int64(y0)+int64(dy)), uint64(int64(z0)+int64(dz)))
		sum += Unit(h) * part(fx, dx) * part(fy, dy) * part(fz, dz)
	}
	return sum
}

func smooth(f float64) float64 { return f * f * (3 - 2*f) }

func part(f float64, side int) float64 {
	if side == 0 {
		return 1 - f
	}
	return f
}

// Clouds is how much of the sky is covered, from 0 to 1.
func (w Weather) Clouds(lat, lon, hours float64) float64 {
	return w.at(grain{clouds, 6, 12}, lat, lon, hours)
}

// front is how much warmer it is than usual, from -1 to 1.
func (w Weather) front(lat, lon, hours float64) float64 {
	return 2*w.at(grain{fronts, 12, 60}, lat, lon, hours) - 1
}

// spell is how long rain keeps its strength, in hours.
const spell = 3

// Rain is how much falls, in mm an hour, at a time in hours. It changes from spell to
// spell, and only then.
func (w Weather) Rain(lat, lon, hours float64) float64 {
	return w.spell(lat, lon, math.Floor(hours/spell))
}

// spell is the rain of the spell of that number, in mm an hour.
func (w Weather) spell(lat, lon, n float64) float64 {
	arid := (math.Abs(lat) - 25) / 9
	wet := w.at(grain{showers, 5, 15}, lat, lon, (n+0.5)*spell)
	return 14 * max(0, wet-0.66-0.12*math.Exp(-arid*arid))
}
