package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables/schema"
)

// A bucket is the rollup of a device, a sensor and a time.
type bucket struct {
	device, time, sensor               string
	count                              int
	sum, least, greatest, first, final float64
}

// wanted computes rollups from the stored rows, one number after the other.
func (f *fixture) wanted(window time.Duration, devices ...schema.DeviceID) map[string]bucket {
	want := map[string]bucket{}
	for _, id := range devices {
		for _, e := range f.rows[id] {
			ticks, err := strconv.ParseInt(e.RowKey[:19], 10, 64)
			if err != nil || len(e.RowKey) > 19 && e.RowKey[19] != '-' {
				continue
			}
			at := time.Unix(0, (ticks-621355968000000000)*100).UTC().Truncate(window).Format(time.RFC3339)
			for _, p := range e.Properties {
				n, err := strconv.ParseFloat(p.Value.String(), 64)
				if err != nil || math.IsNaN(n) {
					continue
				}
				key := fmt.Sprint(id, " ", at, " ", p.Name)
				b, there := want[key]
				if !there {
					b = bucket{device: string(id), time: at, sensor: p.Name, least: n, greatest: n, first: n}
				}
				b.count, b.sum, b.final = b.count+1, b.sum+n, n
				b.least, b.greatest = math.Min(b.least, n), math.Max(b.greatest, n)
				want[key] = b
			}
		}
	}
	return want
}

// buckets parses an answer of rollups.
func buckets(t *testing.T, text string) map[string]bucket {
	t.Helper()
	got := map[string]bucket{}
	for _, r := range csvRecords(t, text) {
		b := bucket{device: plain(r["device"]), time: r["time"], sensor: r["sensor"]}
		var err error
		b.count, err = strconv.Atoi(r["count"])
		must(t, err)
		for name, to := range map[string]*float64{"sum": &b.sum, "min": &b.least, "max": &b.greatest, "first": &b.first,
			"last": &b.final} {
			*to, err = strconv.ParseFloat(r[name], 64)
			must(t, err)
		}
		if mean, err := strconv.ParseFloat(r["mean"], 64); err != nil || mean != b.sum/float64(b.count) {
			t.Errorf("the mean of %+v is %s", b, r["mean"])
		}
		key := fmt.Sprint(b.device, " ", b.time, " ", b.sensor)
		if _, twice := got[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		got[key] = b
	}
	return got
}

func TestQueriedRollupsMatchTheReadings(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for text, window := range map[string]time.Duration{"1m": time.Minute, "1h": time.Hour, "1d": 24 * time.Hour} {
		for _, ask := range []struct {
			args    []string
			devices []schema.DeviceID
		}{
			{[]string{"contoso:us-1:a"}, []schema.DeviceID{"contoso:us-1:a"}},
			{[]string{"contoso:us-2:c"}, []schema.DeviceID{"contoso:us-2:c"}},
			{[]string{"--", "-2:odd"}, []schema.DeviceID{"-2:odd"}},
			{[]string{"--prefix", "contoso:us-1"}, []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b"}},
			{[]string{"--prefix=-"}, []schema.DeviceID{"-2:odd"}},
			{[]string{"--tenant", "contoso"}, []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b", "contoso:us-2:c", "-2:odd"}},
			{[]string{"--tenant", "fabrikam"}, []schema.DeviceID{"fabrikam:x"}},
		} {
			out := f.query(slices.Concat([]string{"--storage", f.storage, "--window", text}, f.span(), ask.args)...)
			want, got := f.wanted(window, ask.devices...), buckets(t, out)
			if !maps.Equal(got, want) {
				t.Errorf("%s of %q: %d buckets, want %d, or they differ", text, ask.args, len(got), len(want))
			}
		}
	}
}

func TestBucketsThatOverlapTheSpanArePrinted(t *testing.T) {
	f := newOddFleet(t)
	day := f.begin.Add(24 * time.Hour).Truncate(24 * time.Hour)
	from, to := day.Add(5*time.Hour+17*time.Minute), day.Add(36*time.Hour)
	for _, scope := range []string{"contoso:us-1:a", "--prefix=contoso:us-1:a", "--tenant=fabrikam"} {
		id := schema.DeviceID("contoso:us-1:a")
		if scope == "--tenant=fabrikam" {
			id = "fabrikam:x"
		}
		want := f.wanted(time.Hour, id)
		maps.DeleteFunc(want, func(_ string, b bucket) bool {
			at, _ := time.Parse(time.RFC3339, b.time)
			return !at.Add(time.Hour).After(from) || !at.Before(to)
		})
		got := buckets(t, f.query(scope, "--window=1h", "--from", from.Format(time.RFC3339), "--to",
			to.Format(time.RFC3339)))
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d buckets, want %d", scope, len(got), len(want))
		}
	}
}

func TestWindowDependsOnTheSpan(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for last, want := range map[string]string{"3h": "1m", "60h": "1h", "7d": "1h", "100d": "1d"} {
		out := f.query("fabrikam:x", "--last", last, "--format", "jsonl", "--limit", "1")
		if !strings.Contains(out, `"window":"`+want+`"`) {
			t.Errorf("of %s there is %s; want %s", last, out, want)
		}
	}
	f.refused(exitFailed, "no rollups of 15m; it has rollups of 1m, 1h, 1d", "query fabrikam:x --window 15m")
}
