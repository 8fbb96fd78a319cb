package model

import "math"

// A soil at some depth takes up rain and dries out.
type soil struct {
	weather  Weather
	lat, lon float64
	dry, wet float64 // per cent of its volume
	keeps    float64 // hours until a third of the water is left
	late     float64 // hours that rain takes to get there

	// What was found last: it is the same however often it is asked.
	known bool
	n     float64
	water float64
}

// memory is how many spells back rain counts; what is older has dried out.
const memory = 240

// moisture is how much of the soil is water, in per cent. It rises only while rain
// arrives.
func (s *soil) moisture(hours float64) float64 {
	hours -= s.late
	n := math.Floor(hours / spell)
	into := hours - n*spell
	water := s.before(n)*math.Exp(-into/s.keeps) + s.weather.spell(s.lat, s.lon, n)*into
	return s.dry + (s.wet-s.dry)*(1-math.Exp(-water/30))
}

// before is the water in mm that is left at the begin of a spell of all that fell
// in those before.
func (s *soil) before(n float64) float64 {
	if s.known && s.n == n {
		return s.water
	}
	fade := math.Exp(-spell / s.keeps)
	water := 0.0
	for back := memory; back >= 1; back-- {
		water = water*fade + s.weather.spell(s.lat, s.lon, n-float64(back))*spell
	}
	s.known, s.n, s.water = true, n, water
	return water
}
