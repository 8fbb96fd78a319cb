package jobs_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// ofDay finds two neighboring rows of a device in one day and two hours, before the last day.
func ofDay(t *testing.T, rows []tables.Entity) (a, b int) {
	t.Helper()
	at := func(n int) time.Time { return tables.TicksBefore(rows[n].RowKey).Time() }
	for n := 1; n+1 < len(rows); n++ {
		x, y := at(n), at(n+1)
		if x.YearDay() == y.YearDay() && x.Hour() != y.Hour() && time.Since(y) > 48*time.Hour {
			return n, n + 1
		}
	}
	t.Fatal("no day has rows in two hours")
	return 0, 0
}

// atReadings calls before each time that a job reads readings, with the number of the request.
func atReadings(table string, before func(n int)) faults.Func {
	var n atomic.Int32
	return func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+table+"(") {
			before(int(n.Add(1)))
		}
		return http.DefaultClient.Do(r)
	}
}

// TestRowThatArrivesDuringAnAuditIsInTheOutputsOrInNoLedger: an audit finds a late row in one hour, and another arrives
// in the next hour before the day is folded again.
func TestRowThatArrivesDuringAnAuditIsInTheOutputsOrInNoLedger(t *testing.T) {
	w := newLateWorld(t)
	a, b := ofDay(t, w.Rows[0])
	w.Insert(t, "during", func(n int) bool { return n != a && n != b })
	f := w.NewFleetOf(t, "during")
	calm := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), calm))
	w.Insert(t, "during", func(n int) bool { return n == a })
	arrived := false
	audit := f.Pipeline(t, atReadings("during", func(n int) {
		if n == 2 { // the first one counted
			arrived = true
			w.Insert(t, "during", func(n int) bool { return n == b })
		}
	}))
	r, err := audit.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || !arrived || r.Late == 0 {
		t.Fatalf("the audit: %+v, %v", r, err)
	}
	must.Succeed(t, f.Settle(t.Context(), calm))
	jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), w.want)
}

// TestBusyDeviceGetsItsLateRows lets a live job commit whenever an audit reads, for a late row in a closed window and
// for one in an open window.
func TestBusyDeviceGetsItsLateRows(t *testing.T) {
	w := newLateWorld(t)
	closed, _ := ofDay(t, w.Rows[0])
	for name, late := range map[string]int{"closed": closed, "open": 36} {
		w.Insert(t, "busy"+name, func(n int) bool { return n != late })
		f := w.NewFleetOf(t, "busy"+name)
		live := claimsHold(t, f, nil)
		must.Succeed(t, f.Drain(t.Context(), live))
		w.Insert(t, "busy"+name, func(n int) bool { return n == late })
		busy, commits := busily(t, f, live)
		audit := claimsHold(t, f, atReadings("busy"+name, busy))
		r, err := audit.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
		if err != nil || r.Late != 2 || r.Overtaken != 0 || *commits == 0 {
			t.Errorf("%s: the audit during %d commits: %+v, %v", name, *commits, r, err)
		}
		again := w.NewFleetOf(t, "busy"+name)
		must.Succeed(t, again.Drain(t.Context(), again.Pipeline(t, nil)))
		must.Succeed(t, f.Drain(t.Context(), live))
		jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), jobstest.WithoutHistory(again.Ends(t)), name)
	}
}

// TestAuditLeavesDevicesOfOtherSettingsAlone: in a rolling change of the configuration, an audit of the old one would
// overwrite outputs.
func TestAuditLeavesDevicesOfOtherSettingsAlone(t *testing.T) {
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	newer, older := f.Pipeline(t, nil), f.Pipeline(t, nil)
	newer.Settings, older.Settings = "latest:2,rollup:2", "latest:1,rollup:1"
	newer.Generation, older.Generation = 2, 1
	must.Have(newer.Run(t.Context(), f.Batch))(t)
	before := f.Ends(t)
	r, err := older.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Refolds != 0 || r.Late != 0 {
		t.Errorf("the older audit: %+v, %v", r, err)
	}
	if r, err := older.Run(t.Context(), f.Batch); err != nil || r.Devices != 0 {
		t.Errorf("an older job: %+v, %v", r, err)
	}
	jobstest.SameEnds(t, f.Ends(t), before, "it has changed")
}

// TestRaisedBackfillCountsWhatItAdmits: tokens of an enrollment admit older rows than the ledgers of its devices cover,
// and some come.
func TestRaisedBackfillCountsWhatItAdmits(t *testing.T) {
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, 2, 120)
	missing := func(n int) bool { return n%5 == 2 && n < 90 }
	w.Insert(t, "raised", func(n int) bool { return !missing(n) })
	f := w.NewFleetOf(t, "raised")
	p := f.Pipeline(t, nil)
	span := 7 * 24 * time.Hour
	p.Admits = func(schema.EnrollmentID) time.Duration { return span }
	must.Succeed(t, f.Settle(t.Context(), p)) // the ledger is cut
	if row := f.Track(t, w.Devices[0]); row.Get("LedgerFrom").Int() == 0 {
		t.Fatal("the ledger was not cut")
	}
	span = 25 * 24 * time.Hour
	w.Insert(t, "raised", func(n int) bool {
		return missing(n) &&
			time.Since(tables.TicksBefore(w.Rows[0][n].RowKey).Time()) < span
	})
	must.Succeed(t, f.Settle(t.Context(), p))
	before := f.Track(t, w.Devices[0])
	rows := before.Get("Rows").Int()
	calm := w.NewFleetOf(t, "raised")
	q := calm.Pipeline(t, nil)
	q.Admits = p.Admits
	must.Succeed(t, calm.Settle(t.Context(), q))
	outputs := settings()[0].outputs
	jobstest.SameEnds(t, outputs(f.Ends(t)), outputs(calm.Ends(t)))
	// The ledger covers the gap now: a row that comes there later is late.
	late := -1
	for n := range w.Rows[0] {
		if age := time.Since(tables.TicksBefore(w.Rows[0][n].RowKey).Time()); age > 12*24*time.Hour && age < 20*24*time.Hour {
			late = n
		}
	}
	e := w.Rows[0][late]
	e.RowKey += "-late"
	must.Have(w.Connect(t, nil).Table("raised").Do(t.Context(), tables.Insert(e)))(t)
	r, err := p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 1 {
		t.Errorf("after a late row in the gap: %+v, %v", r, err)
	}
	if after := f.Track(t, w.Devices[0]); after.Get("Rows").Int() != rows+1 {
		t.Errorf("%d rows are counted, after %d and one more", after.Get("Rows").Int(), rows)
	}
}

// manyThenFew returns a device with two rows, the older one with the maximum number of sensors.
func manyThenFew(t *testing.T) *jobstest.Fleet {
	t.Helper()
	now := time.Now()
	return seedDevice(t, 2, func(n int) tables.Entity {
		many, at := fold.MaxSensors, now.Add(-40*24*time.Hour)
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
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("latest")), q) {
		if e.Get(fold.FenceProperty).Int() == 0 {
			t.Errorf("%s has no fence", e.RowKey)
		}
		got[e.RowKey] = []string{}
		for _, p := range e.Properties {
			if !fold.IsReserved(p.Name) {
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
		if n := len(got[key]); n != min(201, sensors-len(all)) {
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
	p.Cadence = 30 * 24 * time.Hour // its first portion is live work
	entities := (fold.MaxSensors + 199) / 200
	if r, err := p.Run(t.Context(), f.Batch); err != nil || r.Refused > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	checkParts(t, partsOf(t, f), fold.MaxSensors, entities)
	must.Succeed(t, f.Drain(t.Context(), p))
	checkParts(t, partsOf(t, f), 10, entities)

	whole := f.World.NewFleetOf(t, "own")
	must.Succeed(t, whole.Drain(t.Context(), whole.Pipeline(t, nil)))
	checkParts(t, partsOf(t, whole), 10, 1)
}

// TestPartsOfADeadAttemptAreEmptied: a worker writes many parts and dies before it commits. The next one folds more
// rows, whose output has one part.
func TestPartsOfADeadAttemptAreEmptied(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := manyThenFew(t)
	for range 2 { // the second one replaces the parts of the first one
		ctx, p := dies(t, f)
		p.Portion = 1
		p.Cadence = 30 * 24 * time.Hour // its first portion is live work
		if _, err := p.Run(ctx, f.Batch); err == nil {
			t.Fatal("the attempt did not die")
		}
	}
	checkParts(t, partsOf(t, f), fold.MaxSensors, (fold.MaxSensors+199)/200)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	checkParts(t, partsOf(t, f), 10, (fold.MaxSensors+199)/200)
}
