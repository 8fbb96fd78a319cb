package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/jobs/fold"
	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/schema"
)

// A golden is a fleet whose real documents are sent, and what its users expect of the outputs.
type golden struct {
	kind   string
	member func(d map[string]any) (id, tenant string, flags []string)
	clock  func(d map[string]any) string // the time of a document
	expect func(t *testing.T, o outputs)
}

// outputs are what queries answer.
type outputs struct {
	*fixture
	newest  map[string]string // by device and sensor
	rollups map[string]string // by device, hour and sensor: count, sum, min, max, mean
}

// text returns a member of a document, by its path.
func textIn(d map[string]any, path ...string) string {
	var v any = d
	for _, name := range path {
		v = v.(map[string]any)[name]
	}
	return v.(string)
}

func goldens() []golden {
	at := func(path ...string) func(d map[string]any) string {
		return func(d map[string]any) string { return textIn(d, path...) }
	}
	of := func(tenant, id string, labels ...string) func(d map[string]any) (string, string, []string) {
		return func(d map[string]any) (string, string, []string) {
			var flags []string
			for _, l := range labels {
				flags = append(flags, "--label", l+"="+textIn(d, l))
			}
			return textIn(d, id), tenant, flags
		}
	}
	return []golden{
		{"temperatures", func(d map[string]any) (string, string, []string) {
			return textIn(d, "DeviceId"), textIn(d, "CustomerId"), nil
		}, at("DateTime"), expectTemperatures},
		{"kitchens", func(d map[string]any) (string, string, []string) {
			tenant, site := textIn(d, "headers", "tenant-id"), textIn(d, "headers", "site-id")
			_, class, _ := strings.Cut(textIn(d, "siteClassId"), "$$$")
			return tenant + ":" + site + ":" + textIn(d, "deviceId"), tenant,
				[]string{"--site", site, "--label", "class=" + class}
		}, at("data", "telemetryTimestamp"), expectKitchen},
		{"oil", of("permian", "deviceId"), at("timeStamp"), expectOil},
		{"bottles", of("starcare", "bottle_id", "user_id", "medication"), at("time"), expectBottles},
		{"ground", of("geosurvey", "device"), at("time"), expectGround},
	}
}

// TestRealDocumentsOfFiveFleetsEndAsTheirUsersExpect: with the ready configurations, sent by sas/device with tokens of
// the endpoint, and folded by a worker.
func TestRealDocumentsOfFiveFleetsEndAsTheirUsersExpect(t *testing.T) {
	t.Parallel()
	for _, g := range goldens() {
		t.Run(g.kind, func(t *testing.T) {
			f := newFixture(t)
			file := filepath.Join(t.TempDir(), "furrow.yaml")
			f.mustRun("config init --example "+g.kind, file)
			f.must("config apply", file)
			tenant := f.sendDocuments(g)
			f.must("schedule --once")
			f.work()
			g.expect(t, f.outputs(tenant))
		})
	}
}

// mustRun runs a command that has no --storage.
func (f *fixture) mustRun(line string, args ...string) {
	f.t.Helper()
	if code, _, errs := furrow(f.t.Context(), append(strings.Fields(line), args...)...); code != exitOK {
		f.t.Fatal(errs)
	}
}

// sendDocuments sends the documents of a fleet at their times of day, yesterday.
func (f *fixture) sendDocuments(g golden) (tenant string) {
	f.t.Helper()
	documents, err := fleets.Documents(g.kind)
	must(f.t, err)
	clients := map[string]*device.Client{}
	_, tenant, _ = g.member(documents[0])
	f.must("enrollment add golden --tenant", tenant)
	u := startEndpoint(f.t, "--storage", f.storage)
	yesterday := time.Now().UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(f.t.Context())
	for _, d := range documents {
		id, _, flags := g.member(d)
		if clients[id] == nil {
			f.must("device add "+id, flags...)
			key := strings.TrimSpace(f.must("device key", id))
			clients[id], err = device.Open(device.Config{Endpoint: u.said.Endpoint, Device: schema.DeviceID(id),
				Enrollment: "golden", Key: key, OnReport: func(r device.Report) { f.t.Errorf("%s: %+v", id, r) }})
			must(f.t, err)
			running.Go(func() { _ = clients[id].Run(ctx) })
		}
		at, err := time.Parse(time.RFC3339, g.clock(d))
		must(f.t, err)
		must(f.t, clients[id].Send(device.Reading{Time: yesterday.Add(at.Sub(at.Truncate(24 * time.Hour))), Values: d}))
	}
	for _, c := range clients {
		must(f.t, c.Flush(f.t.Context()))
	}
	stop()
	running.Wait()
	for id, c := range clients {
		must(f.t, c.Close())
		if out := f.must("rejects", id); strings.Contains(out, id) {
			f.t.Errorf("rejected: %s", out)
		}
	}
	return tenant
}

func (f *fixture) outputs(tenant string) outputs {
	f.t.Helper()
	o := outputs{f, map[string]string{}, map[string]string{}}
	for _, r := range csvRecords(f.t, f.must("query --latest --format csv --tenant", tenant)) {
		o.newest[r["device"]+" "+r["sensor"]] = r["value"] + r["text"]
	}
	for _, r := range csvRecords(f.t, f.must("query --window 1h --last 3d --format csv --tenant", tenant)) {
		at, err := time.Parse(time.RFC3339, r["time"])
		must(f.t, err)
		key := fmt.Sprintf("%s %02d %s", r["device"], at.Hour(), r["sensor"])
		o.rollups[key] = strings.Join([]string{r["count"], r["sum"], r["min"], r["max"], r["mean"]}, " ")
	}
	return o
}

// are compares outputs with what is expected of them.
func are(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s %s is %q, want %q", what, key, got[key], v)
		}
	}
	for key, v := range got {
		if _, is := want[key]; !is {
			t.Errorf("%s %s is %q, and should not be there", what, key, v)
		}
	}
}

func expectTemperatures(t *testing.T, o outputs) {
	are(t, "newest", o.newest, map[string]string{"XYZ-23443 temperature": "72", "XYZ-23444 temperature": "50"})
	are(t, "rollup", o.rollups, map[string]string{"XYZ-23443 08 temperature": "2 140 68 72 70",
		"XYZ-23444 08 temperature": "2 120 50 70 60"})
	o.must("audit run") // the next run makes the reports
	o.work()
	reports := map[string]string{}
	for _, r := range csvRecords(t, o.must("query --by tenant --window 1h --last 3d --format csv")) {
		reports[r["tenant"]+" "+r["time"][11:13]+" "+r["sensor"]] = strings.Join([]string{r["count"], r["sum"], r["min"],
			r["max"], r["mean"], r["first"], r["last"], r["devices"]}, " ")
	}
	are(t, "report", reports, map[string]string{"Microsoft 08 temperature": "4 260 50 72 65 68 50 2"})
}

func expectKitchen(t *testing.T, o outputs) {
	const id = "43f4b965-aa85-405a-43d7-08d958688822:US-5260:Giles-7163712301905"
	numbers := 0
	for key, v := range o.newest {
		if _, err := strconv.ParseFloat(v, 64); err == nil && key != id+" powerCycleID" {
			numbers++
			if want := fmt.Sprintf("1 %s %s %s %s", v, v, v, v); o.rollups[strings.Replace(key, id, id+" 19", 1)] != want {
				t.Errorf("the hour of %s is not %s", key, want)
			}
		}
	}
	if numbers != 32 || len(o.newest) != 35 || len(o.rollups) != 32 || o.newest[id+" boardTemp"] != "78.8" ||
		o.newest[id+" oilProbeTemp"] != "118.9" || o.newest[id+" powerCycleID"] != "213876154" ||
		o.newest[id+" leftMenuItemString"] != "MANUAL" || o.newest[id+" rightMenuItemString"] != "MANUAL" {
		t.Errorf("%d numbers of %d sensors, %d in rollups: %v", numbers, len(o.newest), len(o.rollups), o.newest)
	}
	shown := o.must("device show", id)
	for _, want := range []string{"43f4b965-aa85-405a-43d7-08d958688822", "US-5260", "Fryer"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the device has no %s: %s", want, shown)
		}
	}
	if got := o.must("query --raw --last 3d --format csv", id); !strings.Contains(got, ",data_oilProbeTemp,,118.9,") {
		t.Errorf("the raw reading is %s", got)
	}
}

func expectOil(t *testing.T, o outputs) {
	are(t, "newest", o.newest, map[string]string{"rig-7 temperature": "121.5", "rig-7 rpm": "1800",
		"rig-7 vibration": "55.2"})
	are(t, "rollup", o.rollups, map[string]string{"rig-7 08 temperature": "2 241 119.5 121.5 120.5",
		"rig-7 08 rpm": "1 1800 1800 1800 1800"})
}

func expectBottles(t *testing.T, o outputs) {
	are(t, "newest", o.newest, map[string]string{"bottle-1 action": "closed", "bottle-1 mass_of_contents": "44.25",
		"bottle-1 number_of_pills": "25", "bottle-1 pills_taken": "2"})
	are(t, "rollup", o.rollups, map[string]string{"bottle-1 07 mass_of_contents": "2 90.15 44.25 45.9 45.075",
		"bottle-1 07 number_of_pills": "2 52 25 27 26", "bottle-1 07 pills_taken": "1 2 2 2 2"})
	shown := o.must("device show bottle-1")
	if !strings.Contains(shown, "willcross1024") || !strings.Contains(shown, "Cordrazine") {
		t.Errorf("the device is %s", shown)
	}
	found := false
	for e, err := range o.client.Table(o.names.Output("latest")).Entities(t.Context(), tables.Query{}) {
		must(t, err)
		heard := tables.Ticks(e.Get(fold.HeardProperty).Int()).Time()
		found = found || heard.Format(time.TimeOnly) == "08:00:00"
	}
	if !found {
		t.Error("the heartbeat at 08:00 is no sign of life")
	}
}

func expectGround(t *testing.T, o outputs) {
	are(t, "newest", o.newest, map[string]string{"ground-1 temperature_10cm": "13", "ground-1 temperature_50cm": "9.5"})
	rates := map[string]string{}
	for _, r := range csvRecords(t, o.must("query ground-1 --rate --window 1h --last 3d --format csv")) {
		at, err := time.Parse(time.RFC3339, r["time"])
		must(t, err)
		rates[fmt.Sprintf("%02d:00 %s", at.Hour(), r["sensor"])] = r["last"]
	}
	are(t, "rate", rates, map[string]string{"09:00 temperature_10cm": "0.5", "10:00 temperature_10cm": "1.5",
		"09:00 temperature_50cm": "0", "10:00 temperature_50cm": "0.09999999999999964"})
	newest := csvRecords(t, o.must("query ground-1 --rate --latest --sensors temperature_10cm --format csv"))
	if len(newest) != 1 || newest[0]["per_hour"] != "1.5" || newest[0]["over_per_hour"] != "1.5" {
		t.Errorf("the newest rate is %v", newest)
	}
}
