package model

import (
	"fmt"
	"math"
	"time"
)

// MaxSensors is how many sensors a Probe can have.
const MaxSensors = 12

// Sensors are the names of the first n sensors of every Probe.
func Sensors(n int) []string {
	names := make([]string, n)
	for i, s := range sensors()[:n] {
		names[i] = s.name
	}
	return names
}

// A sensor is read at a moment.
type sensor struct {
	name string
	read func(*moment) any
}

func sensors() []sensor {
	return []sensor{
		{"temperature_air", func(m *moment) any { return m.exact(m.ground(0)+m.noise(0.2), 2) }},
		{"temperature_10cm", func(m *moment) any { return m.exact(m.ground(0.10)+m.noise(0.03), 2) }},
		{"temperature_50cm", func(m *moment) any { return m.exact(m.ground(0.50)+m.noise(0.03), 2) }},
		{"moisture_10cm", func(m *moment) any { return m.exact(m.soils[0].moisture(m.hours), 1) }},
		{"battery", func(m *moment) any { return m.exact(m.battery(), 3) }},
		{"lid", func(m *moment) any { return m.lid() }},
		{"temperature_100cm", func(m *moment) any { return m.exact(m.ground(1)+m.noise(0.03), 2) }},
		{"moisture_50cm", func(m *moment) any { return m.exact(m.soils[1].moisture(m.hours), 1) }},
		{"humidity", func(m *moment) any { return m.exact(m.humidity(), 1) }},
		{"pressure", func(m *moment) any { return m.exact(m.pressure(), 1) }},
		{"rain", func(m *moment) any { return m.exact(m.weather.Rain(m.place.Lat, m.place.Lon, m.hours), 2) }},
		{"signal", func(m *moment) any { return int32(-70 + m.bias(7)*12 + m.noise(6)) }},
	}
}

// A Probe stands in the ground and reads its sensors. It may be used by one
// goroutine at a time.
type Probe struct {
	weather  Weather
	place    Place // where it stands, which is near the place that it is named after
	climate  climate
	key      uint64
	deployed time.Time
	soils    [2]soil
	sky      sky
	sensors  []sensor
}

// NewProbe is a probe with the first so many sensors. Its key tells it from others.
func NewProbe(seed, key uint64, at Place, deployed time.Time, n int) *Probe {
	p := &Probe{weather: Weather{seed}, place: at, climate: climateOf(at), key: key, deployed: deployed,
		sensors: sensors()[:n]}
	keeps := 60 + 90*p.bias(1)
	dry, wet := 5+7*p.bias(2), 36+14*p.bias(3)
	p.soils[0] = soil{weather: p.weather, lat: at.Lat, lon: at.Lon, dry: dry, wet: wet, keeps: keeps, late: 1}
	p.soils[1] = soil{weather: p.weather, lat: at.Lat, lon: at.Lon, dry: dry + 4, wet: wet - 4, keeps: 1.4 * keeps,
		late: 14}
	return p
}

// bias is a trait of the probe, from 0 to 1.
func (p *Probe) bias(trait uint64) float64 { return Unit(Hash(p.key, trait)) }

// Read reads all sensors.
func (p *Probe) Read(t time.Time) map[string]any {
	m := &moment{Probe: p, hours: float64(t.UnixMilli()) / 3_600_000, tick: uint64(t.UnixMilli())}
	m.clouds = p.weather.Clouds(p.place.Lat, p.place.Lon, m.hours)
	values := make(map[string]any, len(p.sensors)+1)
	for i, s := range p.sensors {
		m.sensor = uint64(i)
		values[s.name] = s.read(m)
	}
	return values
}

// Boot tells whether the probe has booted in a span, and with which firmware. It
// boots when it is deployed, and about once a month.
func (p *Probe) Boot(after, upTo time.Time) (firmware string, booted bool) {
	const day = 24 * time.Hour
	booted = after.Before(p.deployed) && !p.deployed.After(upTo)
	for d := after.Truncate(day); !booted && !d.After(upTo); d = d.Add(day) {
		h := Hash(p.key, 20, uint64(d.Unix()))
		at := d.Add(time.Duration(Unit(Hash(h)) * float64(day)))
		booted = Unit(h) < 1.0/30 && at.After(after) && !at.After(upTo)
	}
	return fmt.Sprintf("%d.%d.%d", upTo.Year()-2020, (upTo.Month()-1)/3, Hash(p.key, 21)%3), booted
}

// A moment is a probe at a time.
type moment struct {
	*Probe
	hours  float64
	clouds float64
	tick   uint64
	sensor uint64
}

func (m *moment) ground(depth float64) float64 {
	return m.climate.ground(m.weather, m.place, m.hours, depth, m.clouds)
}

// noise is what a sensor gets wrong, at most by as much as given.
func (m *moment) noise(most float64) float64 {
	return most * (2*Unit(Hash(m.key, 30+m.sensor, m.tick)) - 1)
}

// exact rounds as the sensor does.
func (m *moment) exact(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// battery is a voltage: of a cell that the sun charges, or of one that is empty after
// three years and then replaced.
func (m *moment) battery() float64 {
	if m.bias(4) < 0.4 {
		years := m.hours/yearHours - float64(m.deployed.Unix())/3600/yearHours
		_, used := math.Modf(max(0, years) / 3)
		return 3.65 - 0.25*used - 0.35*math.Pow(used, 8) + m.noise(0.004)
	}
	light := m.sky.light(m.weather, m.climate, m.place, math.Floor(m.hours))
	return 3.45 + 0.7*(1-math.Exp(-light)) + m.noise(0.004)
}

// lid is the state of the box: it is opened when someone comes by.
func (m *moment) lid() string {
	day := math.Floor((m.hours - m.climate.noon + 12) / dayHours)
	h := Hash(m.key, 22, uint64(int64(day)))
	local := m.hours - m.climate.noon + 12 - day*dayHours
	opened := 8 + 9*Unit(Hash(h, 1))
	if Unit(h) < 0.04 && local >= opened && local < opened+0.2+0.8*Unit(Hash(h, 2)) {
		return "open"
	}
	return "closed"
}

// humidity is that of the air, in per cent.
func (m *moment) humidity() float64 {
	day := math.Cos(2 * math.Pi * (m.hours - m.climate.noon - 3) / dayHours)
	return min(100, max(5, 45+40*m.clouds-12*day+m.noise(1)))
}

// pressure is that of the air, in hPa.
func (m *moment) pressure() float64 {
	sea := 1013 - 14*m.weather.front(m.place.Lat, m.place.Lon, m.hours+12)
	return sea*math.Exp(-m.place.Height/8400) + m.noise(0.2)
}
