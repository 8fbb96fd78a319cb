package model

import (
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func place(t *testing.T, slug string) Place {
	t.Helper()
	for _, p := range Places() {
		if p.Slug == slug {
			return p
		}
	}
	t.Fatalf("no place %s", slug)
	return Place{}
}

func probe(t *testing.T, seed uint64, slug string) *Probe {
	return NewProbe(seed, Hash(seed, 1), place(t, slug), time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), MaxSensors)
}

func TestPlacesAreOnAllContinentsAndUnique(t *testing.T) {
	seen, continents := map[string]bool{}, map[string]int{}
	for _, p := range Places() {
		if seen[p.Slug] || math.Abs(p.Lat) > 90 || math.Abs(p.Lon) > 180 || len(p.Country) != 2 {
			t.Errorf("%+v", p)
		}
		seen[p.Slug] = true
		continents[p.Continent]++
	}
	if len(seen) < 120 || len(continents) != 7 {
		t.Errorf("%d places on %v", len(seen), continents)
	}
}

func TestReadingsDoNotDependOnTheirOrderOrOnTheProbeValue(t *testing.T) {
	const n = 500
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p, want := probe(t, 7, "lyon"), make([]map[string]any, n)
	for i := range n {
		want[i] = p.Read(start.Add(time.Duration(i) * 17 * time.Minute))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p = probe(t, 7, "lyon")
	for _, i := range r.Perm(n) {
		if r.IntN(10) == 0 {
			p = probe(t, 7, "lyon")
		}
		if got := p.Read(start.Add(time.Duration(i) * 17 * time.Minute)); !maps.Equal(got, want[i]) {
			t.Fatalf("reading %d is %v, and was %v in order", i, got, want[i])
		}
	}
	if other := probe(t, 8, "lyon").Read(start); maps.Equal(other, want[0]) {
		t.Error("another seed has the same reading")
	}
	if other := NewProbe(7, 2, place(t, "lyon"), start, MaxSensors).Read(start); maps.Equal(other, want[0]) {
		t.Error("another device has the same reading")
	}
}

// mean averages a sensor over days.
func mean(p *Probe, sensor string, from time.Time, days int) float64 {
	sum := 0.0
	for i := range 6 * days {
		sum += p.Read(from.Add(time.Duration(i) * 4 * time.Hour))[sensor].(float64)
	}
	return sum / float64(6*days)
}

func TestSouthernSummerIsInJanuary(t *testing.T) {
	january, july := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 5, 0, 0, 0, 0, time.UTC)
	for slug, south := range map[string]bool{"sydney": true, "cape-town": true, "buenos-aires": true, "mcmurdo": true,
		"aberdeen": false, "chicago": false, "beijing": false} {
		p := probe(t, 3, slug)
		if inJanuary, inJuly := mean(p, "temperature_air", january, 20),
			mean(p, "temperature_air", july, 20); (inJanuary > inJuly) != south {
			t.Errorf("%s: %.1f in January, %.1f in July", slug, inJanuary, inJuly)
		}
	}
}

func TestTropicsAreWarmAndMountainsAndPolesAreCold(t *testing.T) {
	year := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	of := func(slug string) float64 { return mean(probe(t, 3, slug), "temperature_50cm", year, 365) }
	singapore, aberdeen, mcmurdo, quito := of("singapore"), of("aberdeen"), of("mcmurdo"), of("quito")
	if !(singapore > 24 && singapore < 31 && aberdeen > 4 && aberdeen < 12 && mcmurdo < -5 && quito < singapore-10) {
		t.Errorf("Singapore %.1f, Aberdeen %.1f, McMurdo %.1f, Quito %.1f", singapore, aberdeen, mcmurdo, quito)
	}
}

// wave returns the amplitude of a day and its warmest hour, averaged over many days.
func wave(p *Probe, depth float64) (swing, height float64) {
	var c, s float64
	const days = 60
	from := float64(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC).Unix()) / 3600
	for h := range 24 * days {
		v := p.climate.ground(p.weather, p.place, from+float64(h), depth, 0)
		c += v * math.Cos(2*math.Pi*float64(h)/24)
		s += v * math.Sin(2*math.Pi*float64(h)/24)
	}
	height = math.Atan2(s, c) / (2 * math.Pi) * 24
	return math.Hypot(c, s) / (12 * days), math.Mod(height+24, 24)
}

func TestDeeperWavesAreFlatterAndLater(t *testing.T) {
	p := probe(t, 5, "madrid")
	swing0, height0 := wave(p, 0)
	swing10, height10 := wave(p, 0.1)
	swing25, height25 := wave(p, 0.25)
	if !(swing0 > 1.5*swing10 && swing10 > 1.5*swing25) {
		t.Errorf("days swing by %.2f, %.2f and %.2f", swing0, swing10, swing25)
	}
	late := func(a, b float64) float64 { return math.Mod(b-a+24, 24) }
	if l := late(height0, height10); l < 1.5 || l > 5 {
		t.Errorf("at 10 cm the day is %.1f hours late", l)
	}
	if l := late(height10, height25); l < 2 || l > 8 {
		t.Errorf("at 25 cm it is %.1f hours later than at 10 cm", l)
	}
	if h := math.Mod(height0-p.climate.noon+24, 24); h < 1.5 || h > 4.5 {
		t.Errorf("it is warmest %.1f hours after noon", h)
	}
}

func TestOnlyNeighboursShareTheRain(t *testing.T) {
	w := weather(9)
	agree := func(lat, lon float64) float64 {
		both, either := 0, 0
		for h := range 24 * 300 {
			hours := float64(h) + 500_000
			a := w.rain(Place{Lat: 48, Lon: 10}, hours) > 0
			b := w.rain(Place{Lat: lat, Lon: lon}, hours) > 0
			if a && b {
				both++
			}
			if a || b {
				either++
			}
		}
		return float64(both) / float64(either)
	}
	near, far := agree(48.2, 10.3), agree(20, -100)
	if near < 0.6 || far > 0.3 {
		t.Errorf("of the hours with rain at one of two places, it rains at both in %.2f if they are near, in %.2f if far",
			near, far)
	}
}

func TestBatteryMoistureLidAndFirmwareArePlausible(t *testing.T) {
	open, boots := 0, 0
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, p := range Places() {
		probe := NewProbe(1, uint64(i), p, at, MaxSensors)
		for h := range 24 * 3 {
			t1 := at.Add(time.Duration(h) * time.Hour)
			v := probe.Read(t1)
			if b, m := v["battery"].(float64), v["moisture_10cm"].(float64); b < 3 || b > 4.2 || m < 5 || m > 50 {
				t.Fatalf("%s: %v V, %v %%", p.Slug, b, m)
			}
			if v["lid"] == "open" {
				open++
			}
			if firmware, booted := probe.Boot(t1.Add(-time.Hour), t1); booted {
				boots++
				if len(firmware) != 5 {
					t.Fatalf("firmware %q", firmware)
				}
			}
		}
	}
	if n := len(Places()); open == 0 || boots < n || boots > n+n/2 {
		t.Errorf("lids are open in %d readings; %d probes boot %d times", open, n, boots)
	}
}
