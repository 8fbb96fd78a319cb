package jobs_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

// ofDay finds two neighboring rows of a device in one day and two hours, before the last day.
func ofDay(t *testing.T, rows []tables.Entity) (a, b int) {
	t.Helper()
	at := func(n int) time.Time { return jobs.TicksBefore(rows[n].RowKey).Time() }
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
func atReadings(table string, before func(n int)) transport {
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
	jobstest.Must(t, f.Drain(t.Context(), calm))
	w.Insert(t, "during", func(n int) bool { return n == a })
	arrived := false
	audit := f.Pipeline(t, atReadings("during", func(n int) {
		if n == 2 { // the first one counted
			arrived = true
			w.Insert(t, "during", func(n int) bool { return n == b })
		}
	}))
	r, err := audit.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
	if err != nil || !arrived || r.Late == 0 {
		t.Fatalf("the audit: %+v, %v", r, err)
	}
	jobstest.Must(t, f.Settle(t.Context(), calm))
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
		jobstest.Must(t, f.Drain(t.Context(), live))
		w.Insert(t, "busy"+name, func(n int) bool { return n == late })
		busy, commits := busily(t, f, live)
		audit := claimsHold(t, f, atReadings("busy"+name, busy))
		r, err := audit.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
		if err != nil || r.Late != 2 || r.Overtaken != 0 || *commits == 0 {
			t.Errorf("%s: the audit during %d commits: %+v, %v", name, *commits, r, err)
		}
		again := w.NewFleetOf(t, "busy"+name)
		jobstest.Must(t, again.Drain(t.Context(), again.Pipeline(t, nil)))
		jobstest.Must(t, f.Drain(t.Context(), live))
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
	if _, err := newer.Run(t.Context(), f.Batch); err != nil {
		t.Fatal(err)
	}
	before := f.Ends(t)
	r, err := older.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
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
	jobstest.Must(t, f.Settle(t.Context(), p)) // the ledger is cut
	if row := f.Track(t, w.Devices[0]); row.Get("LedgerFrom").Int() == 0 {
		t.Fatal("the ledger was not cut")
	}
	span = 25 * 24 * time.Hour
	w.Insert(t, "raised", func(n int) bool {
		return missing(n) &&
			time.Since(jobs.TicksBefore(w.Rows[0][n].RowKey).Time()) < span
	})
	jobstest.Must(t, f.Settle(t.Context(), p))
	before := f.Track(t, w.Devices[0])
	rows := before.Get("Rows").Int()
	calm := w.NewFleetOf(t, "raised")
	q := calm.Pipeline(t, nil)
	q.Admits = p.Admits
	jobstest.Must(t, calm.Settle(t.Context(), q))
	outputs := settings()[0].outputs
	jobstest.SameEnds(t, outputs(f.Ends(t)), outputs(calm.Ends(t)))
	// The ledger covers the gap now: a row that comes there later is late.
	late := -1
	for n := range w.Rows[0] {
		if age := time.Since(jobs.TicksBefore(w.Rows[0][n].RowKey).Time()); age > 12*24*time.Hour && age < 20*24*time.Hour {
			late = n
		}
	}
	e := w.Rows[0][late]
	e.RowKey += "-late"
	_, err := w.Connect(t, nil).Table("raised").Do(t.Context(), tables.Insert(e))
	jobstest.Must(t, err)
	r, err := p.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 1 {
		t.Errorf("after a late row in the gap: %+v, %v", r, err)
	}
	if after := f.Track(t, w.Devices[0]); after.Get("Rows").Int() != rows+1 {
		t.Errorf("%d rows are counted, after %d and one more", after.Get("Rows").Int(), rows)
	}
}
