package schema

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func TestWindowsDivideADay(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"1s": time.Second, "1m": time.Minute, "15m": 15 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour,
		"1d": 24 * time.Hour,
	} {
		if got, err := ParseWindow(s); err != nil || time.Duration(got) != want {
			t.Errorf("ParseWindow(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "m", "0m", "7m", "60m", "24h", "2d", "1.5h", "01m", "-1m", "1w", "100000s"} {
		if got, err := ParseWindow(s); err == nil {
			t.Errorf("ParseWindow(%q) = %v", s, got)
		}
	}
}

func TestStartsOfBuckets(t *testing.T) {
	at := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 33, 1234500, time.UTC))
	for w, want := range map[Window]string{
		Minute: "2026-11-20T09:17:00Z", Hour: "2026-11-20T09:00:00Z", Daily: "2026-11-20T00:00:00Z",
		Window(15 * time.Minute): "2026-11-20T09:15:00Z",
	} {
		if got := w.Start(at).Time().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s starts at %s, want %s", w, got, want)
		}
	}
	if got := DayOf(at).String(); got != "2026-11-20" {
		t.Errorf("DayOf = %s", got)
	}
	if got, err := ParseDay("2026-11-20"); err != nil || got != DayOf(at) {
		t.Errorf("ParseDay = %v, %v", got, err)
	}
	if _, err := ParseDay("2026-02-30"); err == nil {
		t.Error("the 30th of February is accepted")
	}
}

func TestDayOfATenantIsOneRange(t *testing.T) {
	day := RollupPartition{Tenant: "contoso", Window: Hour, Day: 739939}
	inside := []RollupPartition{
		{"contoso", Hour, 739939, Month{2026, 11, 0}}, {"contoso", Hour, 739939, Month{1, 1, 0}},
		{"contoso", Hour, 739939, Month{9999, 12, 99}},
	}
	outside := []RollupPartition{
		{"contoso", Hour, 739938, Month{2026, 11, 0}}, {"contoso", Hour, 739940, Month{2026, 11, 0}},
		{"contoso", Minute, 739939, Month{2026, 11, 0}}, {"contoso-2", Hour, 739939, Month{2026, 11, 0}},
		{"contos", Hour, 739939, Month{2026, 11, 0}}, {"Contoso", Hour, 739939, Month{2026, 11, 0}},
	}
	for _, p := range inside {
		if !day.TenantDays(739939).Contains(p.String()) {
			t.Errorf("%s is not in %+v", p, day.TenantDays(739939))
		}
	}
	for _, p := range outside {
		if day.TenantDays(739939).Contains(p.String()) {
			t.Errorf("%s is in %+v", p, day.TenantDays(739939))
		}
		want := p.Tenant == "contoso" && p.Window == Hour && p.Day == 739940
		if got := day.TenantDays(739940).Contains(p.String()); got != want {
			t.Errorf("%s is in two days: %v", p, got)
		}
	}
	if OfTenant("contoso").Contains(LatestPartition{"contoso-2", Month{2026, 11, 0}}.String()) {
		t.Error("contoso-2 is in contoso's range")
	}
}

// TestRangesOfATenantHaveEachMonth, and none of the other partitions of its tables.
func TestRangesOfATenantHaveEachMonth(t *testing.T) {
	within := func(all []tables.Keys, pk string) (n int) {
		for _, keys := range all {
			if keys.Contains(pk) {
				n++
			}
		}
		return n
	}
	for _, tenant := range []Tenant{"contoso", "7", "c!d"} {
		for _, year := range []int{1, 999, 1000, 1601, 1969, 1970, 1999, 2000, 2026, 9999} {
			pk := LatestPartition{tenant, Month{year, 12, 3}}.String()
			if n, rates := within(LatestOfTenant(tenant), pk), within(NewestRatesOfTenant(tenant), pk); n != 1 || rates != 1 {
				t.Errorf("%s is in %d ranges of newest values, and %d of newest rates", pk, n, rates)
			}
			for _, window := range []Window{Hour, Daily} {
				if pk := (RollupPartition{tenant, window, 730000, Month{year, 1, 0}}).String(); within(
					NewestRatesOfTenant(tenant), pk) > 0 {
					t.Errorf("the bucket %s is among newest rates", pk)
				}
			}
		}
	}
}

// part returns the number of a part, or 0 for the first.
func part(n int64) int { return []int{0, 2, 3, 5}[n&3] }

func FuzzOutputRows(f *testing.F) {
	f.Add("a", int64(5), "a-b", int64(4))
	f.Add("dev1", int64(5), "dev1", int64(6))
	f.Add("dev1", int64(0), "dev1", int64(6))
	f.Add("a!7", int64(0), "a", int64(0)) // no device ID; a row of part 7 of device a
	f.Fuzz(func(t *testing.T, a string, m int64, b string, n int64) {
		x := RollupRow{DeviceID(a), min(max(tables.Ticks(m), 0), tables.MaxTicks), part(m)}
		y := RollupRow{DeviceID(b), min(max(tables.Ticks(n), 0), tables.MaxTicks), part(n)}
		latestX, latestY := LatestRow{x.Device, x.Part}, LatestRow{y.Device, y.Part}
		_, errA := ParseDeviceID(a)
		_, errB := ParseDeviceID(b)
		// A row of a device ID reads back as itself. Any other text is refused, or is the row of another device.
		if got, err := ParseRollupRow(x.String()); errA == nil && got != x || err == nil && got.String() != x.String() {
			t.Fatalf("ParseRollupRow(%s) = %+v, %v", x, got, err)
		}
		if got, err := ParseLatestRow(latestX.String()); errA == nil && got != latestX ||
			err == nil && got.String() != latestX.String() {
			t.Fatalf("ParseLatestRow(%s) = %+v, %v", latestX, got, err)
		}
		if errA != nil || errB != nil {
			return
		}
		first, last := min(x.Device, y.Device), max(x.Device, y.Device)
		byDevice, byPart := strings.Compare(a, b), cmp.Compare(x.Part, y.Part)
		for _, c := range []struct {
			x, y      string
			order     int
			both, own tables.Keys
		}{
			{x.String(), y.String(), cmp.Or(byDevice, cmp.Compare(x.Bucket, y.Bucket), byPart),
				Buckets(first, last), Buckets(x.Device, x.Device)},
			{latestX.String(), latestY.String(), cmp.Or(byDevice, byPart),
				LatestRows(first, last), LatestRows(x.Device, x.Device)},
		} {
			if got := strings.Compare(c.x, c.y); got != c.order {
				t.Fatalf("%s and %s compare as %d, want %d", c.x, c.y, got, c.order)
			}
			if !c.both.Contains(c.x) || a != b && c.own.Contains(c.y) {
				t.Fatalf("the rows of %s to %s leave out %s, or those of %s have %s", first, last, c.x, a, c.y)
			}
		}
	})
}

func FuzzRollupPartition(f *testing.F) {
	f.Add("contoso!1h!2026-11-20!2026-11.03")
	f.Add("contoso!60m!2026-11-20!2026-11")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParseRollupPartition(s); err == nil && (p.String() != s || tables.CheckKey(s) != nil) {
			t.Fatalf("ParseRollupPartition(%q) = %s, %v", s, p, tables.CheckKey(s))
		}
		if p, err := ParseLatestPartition(s); err == nil && (p.String() != s || tables.CheckKey(s) != nil) {
			t.Fatalf("ParseLatestPartition(%q) = %s, %v", s, p, tables.CheckKey(s))
		}
	})
}

func TestRangesAsFilters(t *testing.T) {
	for want, r := range map[string]tables.Range{
		"":                          {},
		"PartitionKey eq 'it''s'":   tables.Partition("it's"),
		"PartitionKey gt '2026-11'": tables.PartitionsAfter("2026-11"),
		"PartitionKey eq 'd1' and RowKey gt '05' and RowKey le '09'": tables.RowsAfter("d1", "05", "09"),
		"PartitionKey eq 'd1' and RowKey le '09'":                    tables.RowsAfter("d1", "", "09"),
		"PartitionKey eq 'd1' and RowKey ge 'a' and RowKey le 'b'":   tables.RowsBetween("d1", "a", "b"),
		"PartitionKey eq 'd1' and RowKey eq 'a'":                     tables.RowsBetween("d1", "a", "a"),
		"PartitionKey ge 'c:' and PartitionKey lt 'c;'":              {Partitions: tables.KeysWithPrefix("c:")},
		"PartitionKey ge 't!1d!' and PartitionKey lt 't!1d\"' and RowKey ge 'd!' and RowKey lt 'd\"'": {
			Partitions: tables.KeysWithPrefix("t!1d!"), Rows: Buckets("d", "d")},
	} {
		if got := r.Filter(); got != want {
			t.Errorf("Filter() = %s\nwant       %s", got, want)
		}
	}
}

func TestPartsAreJoined(t *testing.T) {
	rows := func(yield func(tables.Entity, error) bool) {
		for _, r := range []struct{ pk, rk, property string }{
			{"a", "d1", "A"}, {"a", "d1!2", "B"}, {"a", "d1!3", "C"}, {"a", "d10", "A"}, {"a", "d2!2", "X"}, {"b", "d2", "A"},
			{"b", "odd!", "A"},
		} {
			if !yield(tables.Entity{PartitionKey: r.pk, RowKey: r.rk,
				Properties: []tables.Property{{Name: r.property, Value: tables.Int32(1)}}}, nil) {
				return
			}
		}
	}
	var got []string
	for e, err := range Joined(rows, LatestOutput) {
		must.Succeed(t, err)
		text := e.PartitionKey + "/" + e.RowKey
		for _, p := range e.Properties {
			text += " " + p.Name
		}
		got = append(got, text)
	}
	if want := []string{"a/d1 A B C", "a/d10 A", "a/d2 X", "b/d2 A", "b/odd! A"}; !slices.Equal(got, want) {
		t.Errorf("joined are %q, want %q", got, want)
	}
	for e, err := range Joined(rows, LatestOutput) {
		if err != nil || e.RowKey != "d1" {
			t.Errorf("%s, %v", e.RowKey, err)
		}
		break
	}
	if got := RollupOutput("d1!0639308160000000000!4"); got != "d1!0639308160000000000" {
		t.Errorf("a bucket's part is of %s", got)
	}
}
