package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
)

// A lateWorld has readings of six days, of which some come late: when those
// around them have been folded long ago.
type lateWorld struct {
	*jobstest.World
	made atomic.Int32      // tables of readings
	want map[string]string // ends of a fleet for which all were there from the beginning
}

func newLateWorld(t *testing.T) *lateWorld {
	w := jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)
	f := w.NewFleet(t)
	jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	return &lateWorld{World: w, want: jobstest.Calmly(f.Ends(t))}
}

// isLate are rows of the first days, of a day ago, and of the last hours and
// minutes. Among them is the key of no reading.
func isLate(n int) bool { return slices.Contains([]int{1, 3, 4, 24, 26, 29, 34, 35}, n) }

// isNew are rows that are there when the late ones have come.
func isNew(n int) bool { return n >= 38 }

// isLast is the row that comes when all is settled: it is folded onto the state
// that an audit has left.
func isLast(n int) bool { return n == 39 }

// A lateFleet has folded what was on time, and then the others came.
type lateFleet struct {
	*jobstest.Fleet
	readings string
	world    *lateWorld
}

func (w *lateWorld) fleetWithLateRows(t *testing.T) *lateFleet {
	t.Helper()
	readings := fmt.Sprintf("late%d", w.made.Add(1))
	w.Insert(t, readings, func(n int) bool { return !isLate(n) && !isNew(n) })
	f := w.NewFleetOf(t, readings)
	jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	w.Insert(t, readings, func(n int) bool { return isLate(n) || isNew(n) && !isLast(n) })
	return &lateFleet{f, readings, w}
}

// differs says what is not as it should be when the last row has come, too.
func (f *lateFleet) differs(t *testing.T) string {
	t.Helper()
	f.world.Insert(t, f.readings, isLast)
	jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	return jobstest.Differ(jobstest.Calmly(f.Ends(t)), f.world.want)
}

func TestAuditFindsLateRows(t *testing.T) {
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	p := f.Pipeline(t, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	if d := jobstest.Differ(jobstest.Calmly(f.Ends(t)), w.want); d == "" {
		t.Fatal("there is nothing to find")
	}
	r, err := p.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 2*8 || r.Missing != 0 || r.Devices != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := f.differs(t); d != "" {
		t.Fatal(d)
	}
	r, err = p.Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 0 || r.Refolds != 0 {
		t.Errorf("the second audit: %+v, %v", r, err)
	}
}

// TestAuditOfTheFirstRunLooksAtAllThatIsOldEnough: no run before it has put audits.
func TestAuditOfTheFirstRunLooksAtAllThatIsOldEnough(t *testing.T) {
	w := jobstest.NewWorldSince(t, 8*time.Hour, 1, 60)
	late := func(n int) bool { return n == 10 || n == 58 }
	w.Insert(t, "first", func(n int) bool { return !late(n) })
	f := w.NewFleetOf(t, "first")
	p := f.Pipeline(t, nil)
	jobstest.Must(t, f.Drain(t.Context(), p))
	w.Insert(t, "first", late)
	if r, err := p.Do(t.Context(), f.Audit(jobs.Late), jobstest.NoPut{}, nil); err != nil || r.Late != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAuditStaysBelowTheCheckpoint also where no processor has windows, so that
// the day of the checkpoint is like any other.
func TestAuditStaysBelowTheCheckpoint(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	only := func(f *jobstest.Fleet, settle time.Duration) *jobs.Pipeline {
		p := f.Pipeline(t, nil)
		p.Processors, p.Settle = p.Processors[:1], settle // latest
		return p
	}
	calm := w.NewFleet(t)
	jobstest.Must(t, calm.Drain(t.Context(), only(calm, 0)))
	w.Insert(t, "other", func(n int) bool { return n != 5 })
	f := w.NewFleetOf(t, "other")
	jobstest.Must(t, f.Drain(t.Context(), only(f, time.Hour)))
	w.Insert(t, "other", func(n int) bool { return n == 5 })
	if r, err := only(f, time.Hour).Do(t.Context(), f.Audit(jobs.Full), jobstest.NoPut{}, nil); err != nil || r.Late != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	jobstest.Must(t, f.Drain(t.Context(), only(f, 0)))
	if d := jobstest.Differ(jobstest.Calmly(f.Ends(t)), jobstest.Calmly(calm.Ends(t))); d != "" {
		t.Error(d)
	}
}

// TestEqualEndsWithLateRows lets every fault befall every operation of a device
// job and an audit, one at a time.
func TestEqualEndsWithLateRows(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	count := &jobstest.Gate{At: -1}
	f := w.fleetWithLateRows(t)
	jobstest.Must(t, f.Settle(t.Context(), f.Pipeline(t, count)))
	operations := int(count.N.Load())
	all := []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.TimedOutDone, faults.EmptyPage}
	for i, fault := range all {
		for n := range operations {
			if passed(n) {
				continue
			}
			if !*every && n%len(all) != i {
				continue
			}
			f := w.fleetWithLateRows(t)
			jobstest.Must(t, f.Settle(t.Context(), f.Pipeline(t, &faults.Transport{Plan: faults.Script{n: fault}})))
			if d := f.differs(t); d != "" {
				t.Fatalf("%s at operation %d: %s", fault, n, d)
			}
		}
	}
	t.Logf("%d operations", operations)
}

// TestEqualEndsWhereverAnAuditStops kills, or puts to sleep, a worker at every
// operation of a device job and an audit, while another does everything.
func TestEqualEndsWhereverAnAuditStops(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	count := &jobstest.Gate{At: -1}
	f := w.fleetWithLateRows(t)
	jobstest.Must(t, f.Settle(t.Context(), f.Pipeline(t, count)))
	for n := range int(count.N.Load()) {
		if passed(n) {
			continue
		}
		for i, done := range []bool{false, true} {
			for k, dies := range []bool{false, true} {
				if !*every && n%4 != 2*i+k {
					continue
				}
				f := w.fleetWithLateRows(t)
				other := f.Pipeline(t, nil)
				ctx, kill := context.WithCancel(t.Context())
				stopping := &jobstest.Gate{At: n, Stop: func(send func() (*http.Response, error)) (r *http.Response, err error) {
					if done {
						r, err = send()
					}
					if dies {
						kill()
						return nil, errors.Join(err, context.Canceled)
					}
					if err := f.Settle(t.Context(), other); err != nil {
						return nil, err
					}
					if !done {
						r, err = send()
					}
					return r, err
				}}
				if err := f.Settle(ctx, f.Pipeline(t, stopping)); err != nil && !dies {
					t.Fatalf("operation %d: %v", n, err)
				}
				jobstest.Must(t, f.Settle(t.Context(), other))
				if d := f.differs(t); d != "" {
					t.Fatalf("operation %d (done %v, dies %v): %s", n, done, dies, d)
				}
				kill()
			}
		}
	}
}

// TestEqualEndsOfTwoAuditors lets two workers loose on one batch with late rows.
func TestEqualEndsOfTwoAuditors(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := w.fleetWithLateRows(t)
		twoWorkers(t, f.Fleet, seed, f.Settle)
		jobstest.Must(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
		if d := f.differs(t); d != "" {
			t.Fatal(d)
		}
	})
}

func TestRewindAndChangedSettingsFoldAnew(t *testing.T) {
	w := newLateWorld(t)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Settings = "one"
	jobstest.Must(t, f.Drain(t.Context(), p))
	spoil := func() {
		client := w.Connect(t, nil)
		for page, err := range client.Table(f.Names.Rollups()).Rows(t.Context(), tables.Query{}) {
			jobstest.Must(t, err)
			for _, e := range page.Rows {
				e.Set("temperature", tables.String("[1,1,1,1,1,1]"))
				e.Set("spoilt", tables.Boolean(true))
				e.Set(jobs.FenceProperty, tables.Int64(1))
				_, err := client.Table(f.Names.Rollups()).Do(t.Context(), tables.InsertOrReplace(e))
				jobstest.Must(t, err)
			}
		}
	}
	spoil()
	p.Settings = "two"
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || len(r.Anew) != 2 {
		t.Fatalf("under other settings: %+v, %v", r, err)
	}
	jobstest.Must(t, f.Settle(t.Context(), p))
	if d := jobstest.Differ(withoutSettings(jobstest.Calmly(f.Ends(t))), withoutSettings(w.want)); d != "" {
		t.Fatalf("after other settings: %s", d)
	}
	spoil()
	for _, d := range w.Devices {
		rewound, err := p.Rewind(t.Context(), w.Member(d, w.Readings), jobs.Rewound{To: 1, At: time.Now(), By: "a test"})
		if err != nil || !rewound {
			t.Fatalf("%s is rewound: %v, %v", d, rewound, err)
		}
	}
	jobstest.Must(t, f.Settle(t.Context(), p))
	ends := withoutSettings(jobstest.Calmly(f.Ends(t)))
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Rewound=to [^=]*test`).ReplaceAllString(v, "")
	}
	if d := jobstest.Differ(ends, withoutSettings(w.want)); d != "" {
		t.Fatalf("after a rewind: %s", d)
	}
}

func withoutSettings(ends map[string]string) map[string]string {
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Settings=\S*`).ReplaceAllString(v, "")
	}
	return ends
}
