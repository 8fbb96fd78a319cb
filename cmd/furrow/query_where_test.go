package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

const mixedModels = `
pipelines: [{name: live, processors: [latest, rollup: {windows: [1h]}]}]
models:
  fryer:
    match: {labels.class: Fryer}
    sensors:
      data_oil: {as: oil, type: number, unit: °F, scale: 2, offset: 32}
      battery: {unit: V}
      junk: ignored
    heartbeat: oil == nil and mode == nil
  probe:
    sensors: {temp: {unit: °C}}
`

// newMixedFleet has devices of three models, two tenants and two months, at two sites, with labels and without. One has
// more sensors than an entity of an output takes, and one more rows than a page.
func newMixedFleet(t *testing.T, random *rand.Rand) *fixture {
	t.Helper()
	f := newObservedFixture(t)
	for i := range 14 {
		d := newDevice(schema.DeviceID(fmt.Sprintf("d%d:%02d", i%2, i)), "north", 2026, time.Month(10+i%2))
		if i%5 == 4 {
			d.Tenant = "south"
		}
		d.Site = schema.Site([]string{"", "quay's", "mill"}[i%3])
		switch i % 4 {
		case 0:
			d.Labels = map[string]string{"class": "Fryer"}
		case 1:
			d.Labels = map[string]string{"class": "Probe", "floor": "2"}
			d.Model = "probe"
		}
		rows := 30
		if i == 7 {
			rows = 1100
		}
		f.add(d, mixedRows(f, random, d.ID, rows, i == 6)...)
	}
	file := t.TempDir() + "/site.yaml"
	must(t, os.WriteFile(file, []byte(mixedModels), 0o600))
	f.must("config apply", file)
	f.must("schedule --once")
	f.work()
	return f
}

// mixedRows are in row order, and end within the fleet's span.
func mixedRows(f *fixture, random *rand.Rand, id schema.DeviceID, n int, wide bool) (rows []tables.Entity) {
	step := f.end.Sub(f.begin) / time.Duration(n)
	for i := range n {
		e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(f.begin.Add(time.Duration(i) * step)).String()}
		if random.IntN(4) > 0 {
			e.Set("data_oil", tables.Double(float64(random.IntN(8))/2))
		}
		if random.IntN(3) > 0 {
			e.Set("mode", tables.String([]string{"open", "ajar", "shut"}[random.IntN(3)]))
		}
		if random.IntN(2) > 0 {
			e.Set("temp", tables.String(fmt.Sprint(random.IntN(5))))
		}
		if random.IntN(2) > 0 || len(e.Properties) == 0 {
			e.Set("battery", tables.Int32(int32(random.IntN(4))))
		}
		e.Set("junk", tables.Boolean(random.IntN(2) > 0))
		for s := 0; wide && s < 230; s++ {
			e.Set(fmt.Sprintf("s%03d", s), tables.Int32(int32(s)))
		}
		rows = append(rows, e)
	}
	return rows
}

// TestDeviceListTakesTheSameConditions compares device list with a naive filter, over several pages.
func TestDeviceListTakesTheSameConditions(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newMixedFleet(t, random)
	idle := newDevice("d0:idle", "north", 2026, 10)
	f.add(idle)
	for range 40 {
		where := randomCondition(random, 2, false)
		all := naiveQuery{kind: "--latest", where: where, devices: func(schema.Device) bool { return true }}
		devices := map[string]bool{}
		for _, line := range all.answer(f) {
			device, _, _ := strings.Cut(line, "|")
			devices[device] = true
		}
		if where.holds(naiveRow{}, nil) {
			devices["d0:idle"] = true
		}
		want := slices.Sorted(maps.Keys(devices))
		got, after := []string{}, ""
		for {
			out, errs := f.both("device list --format=csv --limit=5", "--where", where.text, "--after="+after)
			for _, r := range csvRecords(t, out) {
				got = append(got, r["device"])
			}
			if !strings.Contains(errs, "continue with --after") {
				break
			}
			after = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: device list --where %q: %v, want %v", seed, where.text, got, want)
		}
	}
	f.refused(exitUsage, "--where: oil is no condition", "device list --where oil")
}

// TestModelsOfTheConfigurationAreChecked by query --model.
func TestModelsOfTheConfigurationAreChecked(t *testing.T) {
	t.Parallel()
	f := newMixedFleet(t, rand.New(rand.NewPCG(2, 2)))
	f.refused(exitFailed, `there is no model "frier"; there are fryer, probe`, "query --tenant north --latest --model frier")
}

// TestConditionOnAnUnknownSensorSaysSo: names as devices send them are not those of sensors.
func TestConditionOnAnUnknownSensorSaysSo(t *testing.T) {
	t.Parallel()
	f := newMixedFleet(t, rand.New(rand.NewPCG(1, 1)))
	for _, line := range []string{"--latest", "--window=1h", "--raw --last=3h"} {
		_, errs := f.both("query --tenant=north --model=fryer --where oill>1 " + line)
		if !strings.Contains(errs, `that --model, --where let through; no newest value is of a sensor "oill"; did you mean "oil"?`) {
			t.Errorf("%s: %s", line, errs)
		}
	}
}

// TestFilteredQueriesEqualANaiveFilterOverEverything combines filters at random, until each kind of query has had
// answers that are not empty.
func TestFilteredQueriesEqualANaiveFilterOverEverything(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newMixedFleet(t, random)
	some := map[string]int{"--latest": 0, "--window=1h": 0, "--raw": 0, "--states": 0}
	for n := 0; n < 80 || slices.Min(slices.Collect(maps.Values(some))) < 3; n++ {
		if n == 2000 {
			t.Fatalf("seed %d: %d queries have these numbers of answers with anything: %v", seed, n, some)
		}
		q := randomQuery(f, random)
		code, out, errs := f.run("query", q.args...)
		if code != exitOK {
			t.Fatalf("seed %d: furrow query %q: exit %d, %s", seed, q.args, code, errs)
		}
		want, got := q.answer(f), q.printed(t, out)
		if len(want) > 0 {
			some[q.kind]++
		}
		if !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: furrow query %q has %d lines, want %d; the first that differ are\n%q\nwant\n%q\n%s", seed,
				q.args, len(got), len(want), got[i:min(i+2, len(got))], want[i:min(i+2, len(want))], errs)
		}
		if n := 1 + random.IntN(3); q.kind == "--raw" && len(want) > 0 { // a record may have several lines
			limited := q.printed(t, f.must("query", append(q.args, "--limit", fmt.Sprint(n))...))
			rows := map[string]bool{}
			for _, line := range limited {
				rows[line[:strings.LastIndex(line, "|")]] = true
				if _, found := slices.BinarySearch(want, line); !found {
					t.Fatalf("seed %d: furrow query %q --limit %d has %s", seed, q.args, n, line)
				}
			}
			if len(rows) > n || len(rows) == 0 {
				t.Fatalf("seed %d: furrow query %q --limit %d has %d rows", seed, q.args, n, len(rows))
			}
		}
	}
}
