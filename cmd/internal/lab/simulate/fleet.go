package simulate

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"furrow/cmd/internal/lab/simulate/model"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A Fleet consists of probes in the ground all over the world. Equal Fleets have the same members and readings.
type Fleet struct {
	Seed      uint64
	Devices   int           // required
	Tenants   int           // zero: 2
	Sensors   int           // of a device, at most model.MaxSensors; zero: 6
	Months    int           // in which devices were deployed, more in later ones; zero: 36
	Until     time.Time     // when the last device was deployed; zero: now
	Every     time.Duration // between readings of a device; zero: a minute
	SendEvery time.Duration // devices collect readings for so long; zero: they send each at once
	Dirt      Dirt
}

// filled returns f with defaults.
func (f Fleet) filled() Fleet {
	f.Tenants, f.Sensors, f.Months = cmp.Or(f.Tenants, 2), cmp.Or(f.Sensors, 6), cmp.Or(f.Months, 36)
	f.Every = cmp.Or(f.Every, time.Minute)
	if f.Until.IsZero() {
		f.Until = time.Now()
	}
	return f
}

func tenantName(i int) schema.Tenant {
	names := []schema.Tenant{"contoso", "fabrikam", "adatum", "litware", "northwind", "proseware", "tailspin", "wingtip"}
	if i < len(names) {
		return names[i]
	}
	return schema.Tenant(fmt.Sprintf("tenant%d", i+1))
}

// devicesPerSite is about how many devices of a tenant are at one place.
const devicesPerSite = 8

// Purposes of hashes.
const (
	forMember = iota + 1
	forPosition
	forDeployment
	forPhase
	forDirt
)

// Members returns the devices, evenly distributed over the tenants.
func (f Fleet) Members() []Member {
	f = f.filled()
	places := model.Places()
	sites := min(len(places), max(1, f.Devices/f.Tenants/devicesPerSite))
	labels := make([]map[string]string, len(places))
	for i, at := range places {
		labels[i] = map[string]string{"place": at.Name, "country": at.Country, "continent": at.Continent,
			"model": fmt.Sprint("ground-", f.Sensors)}
	}
	all := make([]Member, f.Devices)
	for tenant := range f.Tenants {
		order := rand.New(rand.NewPCG(f.Seed, uint64(tenant))).Perm(len(places)) // of the tenant's sites
		for i := tenant; i < f.Devices; i += f.Tenants {
			at := order[i/f.Tenants%sites]
			all[i] = f.member(i, tenantName(tenant), places[at], labels[at])
		}
	}
	return all
}

func (f Fleet) member(i int, tenant schema.Tenant, at model.Place, labels map[string]string) Member {
	site := schema.Site(at.Slug)
	m := Member{
		ID: schema.DeviceID(fmt.Sprintf("%s:%s:probe-%05d", tenant, site, i+1)), Tenant: tenant, Site: site,
		Labels: labels, place: at, key: model.Hash(f.Seed, forMember, uint64(i)),
	}
	near := func(n uint64) float64 { return (model.Unit(model.Hash(m.key, forPosition, n)) - 0.5) / 5 }
	m.place.Lat, m.place.Lon = max(-90, min(90, at.Lat+near(1))), max(-180, min(180, at.Lon+near(2)))
	m.Position = &schema.Position{Lat: model.Round(m.place.Lat, 4), Lon: model.Round(m.place.Lon, 4)}
	m.Deployed = f.deployed(i, m.key)
	return m
}

// deployed returns when device i was deployed: more devices in later months, none in the last day.
func (f Fleet) deployed(i int, key uint64) time.Time {
	end := f.Until.Add(-24 * time.Hour)
	begin := end.AddDate(0, -f.Months, 0)
	// Steps of the golden ratio spread any number of devices evenly.
	_, even := math.Modf((float64(i) + model.Unit(model.Hash(key, forDeployment))) * 0.6180339887498949)
	return begin.Add(time.Duration(math.Pow(even, 2.0/3) * float64(end.Sub(begin)))).UTC().Truncate(time.Second)
}

// Steady reports whether Sendings from a reading's time on are the rest of those that contain it.
func (f Fleet) Steady() bool { return f.Dirt == Dirt{} && f.SendEvery <= f.Every }

func (f Fleet) probe(m Member) *model.Probe {
	return model.NewProbe(f.Seed, m.key, m.place, m.Deployed, f.Sensors)
}

// times returns when m takes readings, in [from, to) and after it was deployed. Each device has its own phase. A
// zero to means no end.
func (f Fleet) times(m Member, from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if from.Before(m.Deployed) {
			from = m.Deployed
		}
		t := from.Truncate(f.Every).Add(m.phase(f.Every, 0)).UTC()
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

// phase is a part of an interval, a different one for each device.
func (m Member) phase(every time.Duration, n uint64) time.Duration {
	return time.Duration(model.Unit(model.Hash(m.key, forPhase, n)) * float64(every)).Truncate(time.Millisecond)
}

// read returns a reading of a probe. The first one after a boot contains the firmware.
func (f Fleet) read(p *model.Probe, t time.Time) device.Reading {
	r := device.Reading{Time: t, Values: p.Read(t)}
	if firmware, booted := p.Boot(t.Add(-f.Every), t); booted {
		r.Values["firmware"] = firmware
	}
	return r
}
