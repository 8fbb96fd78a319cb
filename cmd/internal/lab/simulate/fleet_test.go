package simulate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var day = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

func collect(f Fleet, m Member, from, to time.Time) []Sending {
	return slices.Collect(f.Sendings(m, from, to))
}

func TestSameSeedIsTheSameFleet(t *testing.T) {
	f := Fleet{Seed: 42, Devices: 50, Until: day, Dirt: Much()}
	a, b := f.Members(), f.Members()
	if !reflect.DeepEqual(a, b) {
		t.Error("its members differ")
	}
	if !reflect.DeepEqual(collect(f, a[7], day.Add(-6*time.Hour), day), collect(f, b[7], day.Add(-6*time.Hour), day)) {
		t.Error("its readings differ")
	}
	other := Fleet{Seed: 43, Devices: 50, Until: day, Dirt: Much()}
	m := other.Members()
	if m[7].ID == a[7].ID && *m[7].Position == *a[7].Position {
		t.Errorf("with another seed, %+v", m[7])
	}
	if reflect.DeepEqual(collect(f, a[7], day.Add(-time.Hour), day), collect(other, m[7], day.Add(-time.Hour), day)) {
		t.Error("with another seed, the readings are the same")
	}
}

// byTime returns readings by the time of their device's clock.
func byTime(all []Sending) map[string]string {
	m := map[string]string{}
	for _, s := range all {
		m[s.Reading.Time.String()] = fmt.Sprint(s.Reading.Values)
	}
	return m
}

func TestReadingsDoNotDependOnWhereASpanBegins(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := Fleet{Seed: seed, Devices: 3, Until: day, Months: 1, Dirt: Much()}
	m := f.Members()[1]
	m.Deployed = day.Add(-48 * time.Hour)
	whole := byTime(collect(f, m, day.Add(-24*time.Hour), day))
	parts := map[string]string{}
	for h := 24; h > 0; h -= 3 { // a part may begin during an outage, with a stuck sensor or a wrong clock
		for at, values := range byTime(collect(f, m, day.Add(-time.Duration(h)*time.Hour),
			day.Add(-time.Duration(h-3)*time.Hour))) {
			parts[at] = values
		}
	}
	if len(whole) < 1000 || !reflect.DeepEqual(whole, parts) {
		t.Errorf("%d readings in one, %d in parts", len(whole), len(parts))
	}
}

func TestMembersAreSpreadOverTenantsPlacesAndMonths(t *testing.T) {
	for _, devices := range []int{1, 2, 7, 100, 1000} {
		f := Fleet{Seed: 3, Devices: devices, Tenants: 2, Months: 36, Until: day}
		tenants, months, sites, ids := map[schema.Tenant]int{}, map[string]int{}, map[schema.Site]bool{},
			map[schema.DeviceID]bool{}
		early := 0
		for _, m := range f.Members() {
			if _, err := schema.ParseDeviceID(string(m.ID)); err != nil || ids[m.ID] {
				t.Fatalf("id %s: %v, or twice", m.ID, err)
			}
			must.Have(schema.ParseSite(string(m.Site)))(t)
			ids[m.ID], sites[m.Site] = true, true
			tenants[m.Tenant]++
			months[m.Deployed.Format("2006-01")]++
			if m.Deployed.After(day.Add(-24*time.Hour)) || m.Deployed.Before(day.AddDate(0, -36, -2)) {
				t.Errorf("deployed %s", m.Deployed)
			}
			if m.Deployed.Before(day.AddDate(0, -18, 0)) {
				early++
			}
		}
		if devices == 1000 && (len(months) < 36 || tenants["contoso"] != 500 || len(sites) < 50 || early > 450 ||
			early < 200) {
			t.Errorf("%d months, %v, %d sites, %d in the first half", len(months), tenants, len(sites), early)
		}
	}
}

func TestFleetWithoutDirtIsClean(t *testing.T) {
	f := Fleet{Seed: 9, Devices: 4, Until: day, Months: 2}
	for _, m := range f.Members() {
		sent := collect(f, m, day.Add(-2*time.Hour), day)
		if len(sent) != 120 {
			t.Fatalf("%d readings", len(sent))
		}
		for i, s := range sent {
			if !s.Due.Equal(s.Reading.Time) || i > 0 && s.Due.Sub(sent[i-1].Due) != time.Minute {
				t.Fatalf("%v after %v", s, sent[max(0, i-1)])
			}
		}
		if early := collect(f, m, m.Deployed.Add(-time.Hour), m.Deployed); len(early) > 0 {
			t.Errorf("%d readings before it is deployed", len(early))
		}
	}
}

func TestEachKindOfDirtHappensOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	for kind, d := range map[string]Dirt{"repeats": {Repeats: 0.3}, "disorder": {Disorder: 0.3},
		"outages": {Outages: 0.3}, "clocks": {Clocks: 0.3}, "stuck": {Stuck: 0.3}, "texts": {Texts: 0.3},
		"nested": {Nested: 0.3}, "nonsense": {Nonsense: 0.3}} {
		f := Fleet{Seed: 5, Devices: 6, Until: day, Months: 1, Dirt: d}
		found := map[string]int{}
		for _, m := range f.Members() {
			m.Deployed = day.Add(-30 * 24 * time.Hour)
			clean := map[int64]device.Reading{}
			spotless := f
			spotless.Dirt = Dirt{}
			for _, s := range collect(spotless, m, day.Add(-48*time.Hour), day) {
				clean[s.Reading.Time.UnixMilli()] = s.Reading
			}
			seen := map[int64]bool{}
			for _, s := range collect(f, m, day.Add(-48*time.Hour), day) {
				at := s.Reading.Time.UnixMilli()
				want, known := clean[at]
				switch {
				case s.Reading.Time.Year() == 1970, !known:
					found["clocks"]++
				case seen[at] && kind != "clocks": // with a clock an hour ahead, two may have the same time
					found["repeats"]++
				case !s.Due.Equal(s.Reading.Time) && s.Due.Sub(s.Reading.Time) <= 5*time.Minute && kind == "disorder":
					found["disorder"]++
				case !s.Due.Equal(s.Reading.Time) && kind != "clocks":
					found["outages"]++
				}
				seen[at] = true
				if kind != "clocks" {
					countOdd(found, want, s.Reading)
				}
			}
			if kind != "clocks" && len(seen) != len(clean) {
				t.Errorf("%s: %d of %d readings are sent", kind, len(seen), len(clean))
			}
			if f.Wall(m) != nil {
				found["clocks"]++
			}
		}
		if found[kind] == 0 || len(found) > 1 {
			t.Errorf("%s: found %v", kind, found)
		}
	}
}

func countOdd(found map[string]int, want, got device.Reading) {
	if _, nested := got.Values["temperature"]; nested {
		found["nested"]++
		return
	}
	texts := 0
	for name, v := range want.Values {
		text, isText := got.Values[name].(string)
		_, number := v.(float64)
		switch {
		case reflect.DeepEqual(v, got.Values[name]):
		case number && isText && text == fmt.Sprint(v):
			texts++
		case isText && name != "lid" || isText && text != "open" && text != "closed":
			found["nonsense"]++
		default:
			found["stuck"]++
		}
	}
	if texts > 0 {
		found["texts"]++
	}
}

func TestCollectingDevicesSendTheirReadingsTogether(t *testing.T) {
	f := Fleet{Seed: 5, Devices: 1, Until: day, Every: 10 * time.Second, SendEvery: 5 * time.Minute}
	sent := collect(f, f.Members()[0], day.Add(-time.Hour), day)
	times := map[time.Time]int{}
	for _, s := range sent {
		if s.Due.Before(s.Reading.Time) || s.Due.Sub(s.Reading.Time) > 5*time.Minute {
			t.Fatalf("%v is due at %s", s.Reading.Time, s.Due)
		}
		times[s.Due]++
	}
	if len(sent) != 360 || len(times) > 13 {
		t.Errorf("%d readings are due at %d times", len(sent), len(times))
	}
}
