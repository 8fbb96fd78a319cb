package model

import "math"

// A weather is noise from a seed. Neighbouring places have about the same.
type weather uint64

// A field is one kind of noise.
type field struct {
	kind    uint64
	degrees float64 // between independent values; divides 360
	hours   float64 // the same in time
}

// drift is how fast weather moves eastwards, in degrees of longitude an hour.
const drift = 0.3

// at returns a number from 0 to 1: smooth noise between random points on a grid of latitude, longitude and time.
func (w weather) at(f field, p Place, hours float64) float64 {
	x, y, z := (p.Lon+180-drift*hours)/f.degrees, (p.Lat+90)/f.degrees, hours/f.hours
	x0, y0, z0 := math.Floor(x), math.Floor(y), math.Floor(z)
	fx, fy, fz := smooth(x-x0), smooth(y-y0), smooth(z-z0)
	around := int64(360 / f.degrees)
	var sum float64
	for corner := range 8 {
		dx, dy, dz := corner&1, corner>>1&1, corner>>2
		column := ((int64(x0)+int64(dx))%around + around) % around
		h := Hash(uint64(w), f.kind, uint64(column), uint64(int64(y0)+int64(dy)), uint64(int64(z0)+int64(dz)))
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

// clouds returns the share of the sky that is covered, from 0 to 1.
func (w weather) clouds(p Place, hours float64) float64 { return w.at(field{1, 6, 12}, p, hours) }

// wetness returns how wet the soil is, from 0 to 1.
func (w weather) wetness(p Place, hours float64) float64 { return w.at(field{2, 5, 100}, p, hours) }

// front returns how much warmer it is than usual, from -1 to 1.
func (w weather) front(p Place, hours float64) float64 { return 2*w.at(field{3, 12, 60}, p, hours) - 1 }

// rain returns mm an hour. Latitudes around 25° are dry.
func (w weather) rain(p Place, hours float64) float64 {
	arid := (math.Abs(p.Lat) - 25) / 9
	return 14 * max(0, w.at(field{4, 5, 15}, p, hours)-0.66-0.12*math.Exp(-arid*arid))
}
