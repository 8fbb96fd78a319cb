package jobs_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

// manyThenFew returns a device with two rows, the older one with the maximum number of sensors.
func manyThenFew(t *testing.T) *jobstest.Fleet {
	t.Helper()
	now := time.Now()
	return seedDevice(t, 2, func(n int) tables.Entity {
		many, at := jobs.MaxSensors, now.Add(-40*24*time.Hour)
		if n == 1 {
			many, at = 10, now.Add(-time.Hour)
		}
		e := tables.Entity{RowKey: tables.TicksOf(at).String()}
		e.Set("a", tables.String("{"+strings.Join(sensors(many), ",")+"}"))
		return e
	})
}

// partsOf returns the sensors of each entity of a device in latest, by row key.
func partsOf(t *testing.T, f *jobstest.Fleet) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is("t0!" + jobstest.Month.String()),
		Rows: schema.LatestRows(f.World.Devices[0], f.World.Devices[0])}}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Latest()), q) {
		if e.Get(jobs.FenceProperty).Int() == 0 {
			t.Errorf("%s has no fence", e.RowKey)
		}
		got[e.RowKey] = []string{}
		for _, p := range e.Properties {
			if !jobs.IsReserved(p.Name) {
				got[e.RowKey] = append(got[e.RowKey], p.Name)
			}
		}
		if !slices.IsSorted(got[e.RowKey]) {
			t.Errorf("the sensors of %s are not in order", e.RowKey)
		}
	}
	return got
}

// checkParts checks that parts have so many sensors, and that the others are empty.
func checkParts(t *testing.T, got map[string][]string, sensors, entities int) {
	t.Helper()
	var all []string
	if len(got) != entities {
		t.Errorf("%d entities, want %d", len(got), entities)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if n := len(got[key]); n != min(200, sensors-len(all)) {
			t.Errorf("%s has %d sensors", key, n)
		}
		all = append(all, got[key]...)
	}
	if len(all) != sensors || !slices.IsSorted(all) {
		t.Errorf("%d sensors, want %d", len(all), sensors)
	}
}

func TestOutputOfManySensorsIsInParts(t *testing.T) {
	f := manyThenFew(t)
	p := f.Pipeline(t, nil)
	p.Portion = 1
	entities := (jobs.MaxSensors + 199) / 200
	if r, err := p.Run(t.Context(), f.Batch); err != nil || r.Refused > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	checkParts(t, partsOf(t, f), jobs.MaxSensors, entities)
	jobstest.Must(t, f.Drain(t.Context(), p))
	checkParts(t, partsOf(t, f), 10, entities)

	whole := f.World.NewFleetOf(t, "own")
	jobstest.Must(t, whole.Drain(t.Context(), whole.Pipeline(t, nil)))
	checkParts(t, partsOf(t, whole), 10, 1)
}

// TestPartsOfADeadAttemptAreEmptied: a worker writes many parts and dies before it commits. The next one folds more
// rows, whose output has one part.
func TestPartsOfADeadAttemptAreEmptied(t *testing.T) {
	f := manyThenFew(t)
	for range 2 { // the second one replaces the parts of the first one
		ctx, p := dies(t, f)
		p.Portion = 1
		if _, err := p.Run(ctx, f.Batch); err == nil {
			t.Fatal("the attempt did not die")
		}
	}
	checkParts(t, partsOf(t, f), jobs.MaxSensors, (jobs.MaxSensors+199)/200)
	jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	checkParts(t, partsOf(t, f), 10, (jobs.MaxSensors+199)/200)
}
