package model

import (
	"fmt"
	"math"
	"time"
)

// MaxSensors is the most sensors that a Probe can have.
const MaxSensors = 12

// Sensors returns the names of the first n sensors of every Probe.
func Sensors(n int) []string {
	names := make([]string, n)
	for i, s := range sensors()[:n] {
		names[i] = s.name
	}
	return names
}

type sensor struct {
	name string
	read func(*moment) any
}

func sensors() []sensor {
	return []sensor{
		{"temperature_air", func(m *moment) any { return Round(m.ground(0)+m.noise(0.2), 2) }},
		{"temperature_10cm", func(m *moment) any { return Round(m.ground(0.10)+m.noise(0.03), 2) }},
		{"temperature_50cm", func(m *moment) any { return Round(m.ground(0.50)+m.noise(0.03), 2) }},
		{"moisture_10cm", func(m *moment) any { return Round(m.moisture(1), 1) }},
		{"battery", func(m *moment) any { return Round(m.battery(), 3) }},
		{"lid", func(m *moment) any { return m.lid() }},
		{"temperature_100cm", func(m *moment) any { return Round(m.ground(1)+m.noise(0.03), 2) }},
		{"moisture_50cm", func(m *moment) any { return Round(m.moisture(14), 1) }},
		{"humidity", func(m *moment) any { return Round(m.humidity(), 1) }},
		{"pressure", func(m *moment) any { return Round(m.pressure(), 1) }},
		{"rain", func(m *moment) any { return Round(m.weather.rain(m.place, m.hours), 2) }},
		{"signal", func(m *moment) any { return int32(-70 + m.bias(7)*12 + m.noise(6)) }},
	}
}

// A Probe stands in the ground and reads its sensors.
type Probe struct {
	weather  weather
	place    Place
	climate  climate
	key      uint64
	deployed time.Time
	sensors  []sensor
}

// NewProbe returns a probe with the first n sensors. The key distinguishes it from other probes.
func NewProbe(seed, key uint64, at Place, deployed time.Time, n int) *Probe {
	return &Probe{weather(seed), at, climateOf(at), key, deployed, sensors()[:n]}
}

// bias is a trait of the probe, from 0 to 1.
func (p *Probe) bias(trait uint64) float64 { return Unit(Hash(p.key, trait)) }

// Read reads all sensors.
func (p *Probe) Read(t time.Time) map[string]any {
	m := &moment{Probe: p, hours: float64(t.UnixMilli()) / 3_600_000, tick: uint64(t.UnixMilli())}
	m.clouds = p.weather.clouds(p.place, m.hours)
	values := make(map[string]any, len(p.sensors)+1)
	for i, s := range p.sensors {
		m.sensor = uint64(i)
		values[s.name] = s.read(m)
	}
	return values
}

// Boot tells whether the probe booted in a span, and with which firmware. It boots when it is deployed, and about
// once a month.
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

// noise is a sensor's error, at most by as much as given.
func (m *moment) noise(most float64) float64 {
	return most * (2*Unit(Hash(m.key, 30+m.sensor, m.tick)) - 1)
}

// Round rounds to so many digits.
func Round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// moisture of the soil in per cent of its volume, at a depth that water takes so many hours to reach.
func (m *moment) moisture(late float64) float64 {
	dry, wet := 5+7*m.bias(2), 36+14*m.bias(3)
	return dry + (wet-dry)*m.weather.wetness(m.place, m.hours-late)
}

// battery is the voltage of a cell that is empty after three years, and replaced then.
func (m *moment) battery() float64 {
	years := m.hours/yearHours - float64(m.deployed.Unix())/3600/yearHours
	_, used := math.Modf(max(0, years)/3 + m.bias(4))
	return 3.65 - 0.25*used - 0.35*math.Pow(used, 8) + m.noise(0.004)
}

// lid is the state of the box, which people open now and then.
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

// humidity of the air, in per cent.
func (m *moment) humidity() float64 {
	day := math.Cos(2 * math.Pi * (m.hours - m.climate.noon - 3) / dayHours)
	return min(100, max(5, 45+40*m.clouds-12*day+m.noise(1)))
}

// pressure of the air, in hPa.
func (m *moment) pressure() float64 {
	sea := 1013 - 14*m.weather.front(m.place, m.hours+12)
	return sea*math.Exp(-m.place.Height/8400) + m.noise(0.2)
}

// Hash returns a number that looks random and depends only on its arguments.
func Hash(seed uint64, of ...uint64) uint64 {
	h := scramble(seed + 0x9e3779b97f4a7c15)
	for _, n := range of {
		h = scramble(h + n*0x9e3779b97f4a7c15)
	}
	return h
}

// scramble is the finalizer of SplitMix64.
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Unit turns a hash into a number from 0 to 1, without 1.
func Unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
