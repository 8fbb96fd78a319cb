package simulate

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"time"

	"furrow/cmd/internal/simulate/model"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A Fleet is made of probes in the ground all over the world. Two that are equal
// have the same members and the same readings.
type Fleet struct {
	Seed      uint64
	Devices   int           // required
	Tenants   int           // zero: 2
	Sensors   int           // of a device, at most model.MaxSensors; zero: 6
	Months    int           // over which devices were deployed, more of them later; zero: 36
	Until     time.Time     // when the last ones were deployed; zero: now
	Every     time.Duration // between readings of a device; zero: a minute
	SendEvery time.Duration // devices hand over at once what they took in this time; zero: each reading at once
	Dirt      Dirt
}

// filled is f with what is not said.
func (f Fleet) filled() Fleet {
	f.Tenants, f.Sensors, f.Months = cmp.Or(f.Tenants, 2), cmp.Or(f.Sensors, 6), cmp.Or(f.Months, 36)
	f.Every = cmp.Or(f.Every, time.Minute)
	if f.Until.IsZero() {
		f.Until = time.Now()
	}
	return f
}

// tenantName is the name of a tenant by its number.
func tenantName(i int) schema.Tenant {
	names := []schema.Tenant{"contoso", "fabrikam", "adatum", "litware", "northwind", "proseware", "tailspin", "wingtip"}
	if i < len(names) {
		return names[i]
	}
	return schema.Tenant(fmt.Sprintf("tenant%d", i+1))
}

// devicesPerSite is about how many of a tenant's devices are at one place.
const devicesPerSite = 8

// Purposes of hashes.
const (
	forPlaces = iota + 1
	forMember
	forPosition
	forDeployment
	forPhase
	forDirt
)

// Members are the devices: every tenant has as many, give or take one.
func (f Fleet) Members() []Member {
	f = f.filled()
	places := model.Places()
	all := make([]Member, f.Devices)
	for i := range all {
		tenant, own := i%f.Tenants, i/f.Tenants
		sites := min(len(places), max(1, f.Devices/f.Tenants/devicesPerSite))
		at := places[f.sitePlace(tenant, own%sites, len(places))]
		all[i] = f.member(i, tenantName(tenant), at)
	}
	return all
}

// sitePlace is where a tenant has a site. Its sites are at different places: the step
// between them has no divisor in common with the number of places.
func (f Fleet) sitePlace(tenant, site, places int) int {
	h := model.Hash(f.Seed, forPlaces, uint64(tenant))
	step := 1 + int(h>>32)%(places-1)
	for gcd(step, places) != 1 {
		step++
	}
	return (int(h%uint64(places)) + site*step) % places
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (f Fleet) member(i int, tenant schema.Tenant, at model.Place) Member {
	site := schema.Site(at.Slug)
	m := Member{
		ID: schema.DeviceID(fmt.Sprintf("%s:%s:probe-%05d", tenant, site, i+1)), Tenant: tenant, Site: site,
		Labels: map[string]string{"place": at.Name, "country": at.Country, "continent": at.Continent, "model": "ground-" +
			fmt.Sprint(f.Sensors)},
		place: at, key: model.Hash(f.Seed, forMember, uint64(i)),
	}
	near := func(n uint64) float64 { return (model.Unit(model.Hash(m.key, forPosition, n)) - 0.5) / 5 }
	m.place.Lat, m.place.Lon = max(-90, min(90, at.Lat+near(1))), max(-180, min(180, at.Lon+near(2)))
	m.Position = &schema.Position{Lat: round4(m.place.Lat), Lon: round4(m.place.Lon)}
	m.Deployed = f.deployed(i, m.key)
	return m
}

func round4(degrees float64) float64 { return math.Round(degrees*1e4) / 1e4 }

// deployed is when device i was: spread over the months, more of them in the later
// ones, none in the last day.
func (f Fleet) deployed(i int, key uint64) time.Time {
	end := f.Until.Add(-24 * time.Hour)
	begin := end.AddDate(0, -f.Months, 0)
	// A step of the golden ratio spreads neighbours evenly, whatever their number.
	_, even := math.Modf((float64(i) + model.Unit(model.Hash(key, forDeployment))) * 0.6180339887498949)
	return begin.Add(time.Duration(math.Pow(even, 2.0/3) * float64(end.Sub(begin)))).UTC().Truncate(time.Second)
}

// probe is the one that m is.
func (f Fleet) probe(m Member) *model.Probe {
	return model.NewProbe(f.Seed, m.key, m.place, m.Deployed, f.Sensors)
}

// times are when m takes its readings from one time on, up to another but without
// it: each device has seconds of its own. A zero to is no end.
func (f Fleet) times(m Member, from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if from.Before(m.Deployed) {
			from = m.Deployed
		}
		phase := time.Duration(model.Unit(model.Hash(m.key, forPhase)) * float64(f.Every)).Truncate(time.Millisecond)
		t := from.Truncate(f.Every).Add(phase).UTC()
		if t.Before(from) {
			t = t.Add(f.Every)
		}
		for ; to.IsZero() || t.Before(to); t = t.Add(f.Every) {
			if !yield(t) {
				return
			}
		}
	}
}

// Readings are what a member measures from one time on, up to another but without
// it, and never before it was deployed: without any dirt. A zero to is no end.
func (f Fleet) Readings(m Member, from, to time.Time) iter.Seq[device.Reading] {
	f = f.filled()
	return func(yield func(device.Reading) bool) {
		probe := f.probe(m)
		for t := range f.times(m, from, to) {
			if !yield(f.read(probe, t)) {
				return
			}
		}
	}
}

// read is a reading of a probe. The first after it has booted names its firmware.
func (f Fleet) read(p *model.Probe, t time.Time) device.Reading {
	r := device.Reading{Time: t, Values: p.Read(t)}
	if firmware, booted := p.Boot(t.Add(-f.Every), t); booted {
		r.Values["firmware"] = firmware
	}
	return r
}
