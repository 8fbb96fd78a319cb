package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// afterRing calls meanwhile once, when the ring of rejects was read and before the next rows are.
func afterRing(f *jobstest.Fleet, meanwhile func()) faults.Func {
	read, done := false, false
	return func(r *http.Request) (*http.Response, error) {
		if read && !done && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+f.Readings) {
			done = true
			meanwhile()
		}
		read = read || r.Method == http.MethodGet && strings.Contains(r.URL.Path, f.Names.Rejects())
		return http.DefaultClient.Do(r)
	}
}

// TestRejectsOfALiveJobDuringARedo: a live job commits rejects while an audit folds a day with late bad rows again.
// Each row has one reject, whichever job has counted it.
func TestRejectsOfALiveJobDuringARedo(t *testing.T) {
	t.Parallel()
	for name, age := range map[string]time.Duration{"an open day": time.Hour, "a closed day": 48 * time.Hour} {
		for _, early := range []int{20, 90, 250} {
			t.Run(fmt.Sprintf("%s, %d before", name, early), func(t *testing.T) {
				t.Parallel()
				const late, live = 5, 7
				day := tables.TicksOf(time.Now().Add(-age))
				f := seedDevice(t, early, badRows(1000, day))
				if name == "a closed day" {
					send(t, f, 1, func(int) tables.Entity { return temperature(time.Now().Add(-20*time.Minute), 1) })
				}
				must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
				send(t, f, late, badRows(0, day))
				called := false
				p := f.Pipeline(t, afterRing(f, func() {
					called = true
					send(t, f, live, badRows(9000, tables.TicksOf(time.Now().Add(-10*time.Minute))))
					must.Succeed(t, f.Drain(context.WithoutCancel(t.Context()), f.Pipeline(t, nil)))
				}))
				jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
				if !called {
					t.Fatal("no live job ran during the redo")
				}
				want := map[string]int{"late": late, "live": live}
				if early > schema.RejectSlots { // nothing says which of those that the ring lacks are late
					delete(want, "late")
				}
				mustHaveOnce(t, f, early+late+live, want)
			})
		}
	}
}

// mustHaveOnce checks how many rejects are counted, and that the ring has each row of some kinds once: late ones have
// the numbers from 0 on, and live ones from 9000 on.
func mustHaveOnce(t *testing.T, f *jobstest.Fleet, total int, want map[string]int) {
	t.Helper()
	if n := rejectCount(t, f); n != int64(total) {
		t.Errorf("%d rejects are counted of %d", n, total)
	}
	found, rows := map[string]int{}, map[string]bool{}
	for _, r := range ring(t, f, "live") {
		var n int
		must.Have(fmt.Sscanf(r.Reading[strings.Index(r.Reading, "row ")+4:], "%d", &n))(t)
		switch {
		case n < 1000:
			found["late"]++
		case n >= 9000:
			found["live"]++
		}
		if rows[r.Row] {
			t.Errorf("row %d is in the ring twice", n)
		}
		rows[r.Row] = true
	}
	for kind, n := range want {
		if found[kind] != n {
			t.Errorf("%d of %d %s rejects are kept", found[kind], n, kind)
		}
	}
}
