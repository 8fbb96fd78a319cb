package model

import "math"

const (
	dayHours  = 24
	yearHours = 365.2425 * dayHours
)

// A climate is the usual course of temperature at a place.
type climate struct {
	mean   float64 // °C, of the year
	year   float64 // how far it goes up and down with the season
	day    float64 // with the time of day, when the sky is clear
	front  float64 // with the weather
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

// How deep warmth goes until a third of it is left, in metres: the square root of
// twice the soil's diffusivity (0.6 mm²/s) over the frequency of the wave. After as
// much it is a radian late.
const (
	yearDepth  = 2.46
	dayDepth   = 0.129
	frontDepth = 0.34 // of a wave of a week
)

// ground is the temperature at a depth in metres under a sky that is covered so far;
// the surface follows the air.
func (c climate) ground(w Weather, p Place, hours, depth, clouds float64) float64 {
	year := 2*math.Pi*(hours/yearHours-c.summer) - depth/yearDepth
	day := 2*math.Pi*(hours-c.noon-3)/dayHours - depth/dayDepth
	late := depth / frontDepth / (2 * math.Pi) * 7 * dayHours
	t := c.mean + c.year*math.Exp(-depth/yearDepth)*math.Cos(year)
	if depth < 5*dayDepth { // further down no day is felt
		t += c.day * (1 - 0.6*clouds) * math.Exp(-depth/dayDepth) * math.Cos(day)
	}
	return t + c.front*math.Exp(-depth/frontDepth)*w.front(p.Lat, p.Lon, hours-late)
}

// sun is how high the sun stands: 1 is overhead, and below 0 it is night.
func (c climate) sun(p Place, hours float64) float64 {
	tilt := 0.409 * math.Cos(2*math.Pi*(hours/yearHours-0.47)) // radians
	lat := p.Lat * math.Pi / 180
	return math.Sin(lat)*math.Sin(tilt) + math.Cos(lat)*math.Cos(tilt)*math.Cos(2*math.Pi*(hours-c.noon)/dayHours)
}

// A sky is where the sun shines on a battery's panel. It keeps what was found last: it
// is the same however often it is asked.
type sky struct {
	known      bool
	hour, last float64
}

// light is how much of it there was in the two days before an hour.
func (s *sky) light(w Weather, c climate, p Place, hour float64) float64 {
	if s.known && s.hour == hour {
		return s.last
	}
	s.known, s.hour, s.last = true, hour, 0
	for back := 0.0; back < 48; back += 6 {
		at := hour - back
		s.last += max(0, c.sun(p, at)) * (1 - 0.7*w.Clouds(p.Lat, p.Lon, at))
	}
	return s.last
}
