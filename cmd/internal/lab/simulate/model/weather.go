package model

import (
	"math"
)

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

const (
	dayHours  = 24
	yearHours = 365.2425 * dayHours
)

// A climate is the usual course of temperature at a place.
type climate struct {
	mean   float64 // °C, of the year
	year   float64 // amplitude of the year
	day    float64 // amplitude of a day with a clear sky
	front  float64 // amplitude of the weather
	summer float64 // its height, as a part of the year
	noon   float64 // in hours of UTC
}

func climateOf(p Place) climate {
	lat := math.Abs(p.Lat)
	c := climate{
		mean: 27.3 - 0.0062*lat*lat - 0.0058*p.Height,
		year: 0.5 + 0.26*lat, day: 6.5, front: 1 + lat/11,
		summer: 0.545, noon: 12 - p.Lon/15,
	}
	if p.Coast {
		c.year, c.day = 0.5+0.13*lat, 3.5
	}
	if p.Lat < 0 {
		c.summer = 0.045
	}
	return c
}

// Depths in metres at which a wave of warmth has a third of its amplitude and is one radian late: the square root
// of twice the soil's diffusivity (0.6 mm²/s) over the frequency of the wave.
const (
	yearDepth  = 2.46
	dayDepth   = 0.129
	frontDepth = 0.34 // of a wave of a week
)

// ground returns the temperature at a depth in metres. The surface has the temperature of the air.
func (c climate) ground(w weather, p Place, hours, depth, clouds float64) float64 {
	year := 2*math.Pi*(hours/yearHours-c.summer) - depth/yearDepth
	day := 2*math.Pi*(hours-c.noon-3)/dayHours - depth/dayDepth
	late := depth / frontDepth / (2 * math.Pi) * 7 * dayHours
	t := c.mean + c.year*math.Exp(-depth/yearDepth)*math.Cos(year)
	t += c.day * (1 - 0.6*clouds) * math.Exp(-depth/dayDepth) * math.Cos(day)
	return t + c.front*math.Exp(-depth/frontDepth)*w.front(p, hours-late)
}
