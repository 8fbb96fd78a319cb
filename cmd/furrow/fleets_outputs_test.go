package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
)

// exampleFixture has a fleet with a ready configuration, an enrollment of a tenant, and devices.
func exampleFixture(t *testing.T, example, tenant string, devices ...string) *fixture {
	t.Helper()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "fleet.yaml")
	if code, _, errs := furrow(t.Context(), "config", "init", "--example", example, file); code != exitOK {
		t.Fatal(errs)
	}
	hurry(t, file)
	f.must("enrollment add plant1 --tenant", tenant)
	f.must("config apply", file)
	for _, device := range devices {
		f.must("device add", device)
	}
	return f
}

// sent returns a document as the row that a device writes.
func sent(t *testing.T, row []tables.Property, device, at string) tables.Entity {
	t.Helper()
	e := tables.Entity{Properties: row}
	moment, err := time.Parse(time.RFC3339, e.Get(at).Text())
	must(t, err)
	e.PartitionKey, e.RowKey = e.Get(device).Text(), tables.TicksOf(moment).String()
	return e
}

// TestTemperaturesOfATenantsHourAreReported: of two devices, under the name that the model gives, in one account and in
// two.
func TestTemperaturesOfATenantsHourAreReported(t *testing.T) {
	t.Parallel()
	both := reportedTemperatures(t, "XYZ-23443", "XYZ-23444")
	first, second := reportedTemperatures(t, "XYZ-23443"), reportedTemperatures(t, "XYZ-23444")
	const want = `"sensors":{"temperature":{"count":4,"sum":260,"min":50,"max":72,"first":68,"last":50,"mean":65,"devices":2}}`
	for _, storages := range [][]string{{"--storage", both.storage}, {"--storage", first.storage, "--storage",
		second.storage}} {
		for _, of := range []string{"--tenant Microsoft ", ""} {
			out := both.must("query --by tenant "+of+"--window 1h --from 2026-11-20T08:00:00Z --to 2026-11-20T09:00:00Z --json",
				storages...)
			if strings.Count(out, "\n") != 1 || !strings.Contains(out, want) {
				t.Errorf("the hour is %s, want %s", out, want)
			}
		}
	}
}

// reportedTemperatures returns a fleet in which the readings of devices of the example are folded and reported.
func reportedTemperatures(t *testing.T, devices ...string) *fixture {
	t.Helper()
	f := exampleFixture(t, "temperatures", "Microsoft", devices...)
	var rows []tables.Entity
	for _, row := range documents(t, "temperatures.jsonl") {
		if e := sent(t, row, "DeviceId", "DateTime"); slices.Contains(devices, e.PartitionKey) {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, func(a, b tables.Entity) int { return strings.Compare(a.PartitionKey, b.PartitionKey) })
	jobstest.Insert(t, f.client.Table("readings"), rows...)
	for range 2 { // the second run finds the marks of the first
		f.must("schedule --once --pipeline live")
		f.work() // until the next slot: it is idle for a second before it ends
	}
	return f
}
