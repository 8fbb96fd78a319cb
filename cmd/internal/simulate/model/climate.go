package model

import "math"

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
