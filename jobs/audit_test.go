package jobs_test

import (
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/refold"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// A lateWorld has readings of six days. Some come late, long after those around them were folded.
type lateWorld struct {
	*jobstest.World
	made atomic.Int32      // tables of readings
	want map[string]string // ends of a fleet that had all rows from the beginning
}

func newLateWorld(t *testing.T) *lateWorld {
	w := jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)
	w.Rates = true
	f := w.NewFleet(t)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	return &lateWorld{World: w, want: jobstest.WithoutHistory(f.Ends(t))}
}

// isLate selects rows of the first days, of a day ago, and of the last hours and minutes. One of them has a malformed
// key.
func isLate(n int) bool { return slices.Contains([]int{1, 3, 4, 24, 26, 29, 34, 35}, n) }

// isNew selects rows that are there when the late ones have come.
func isNew(n int) bool { return n >= 38 }

// isLast selects the row that comes last: it is folded onto the state that an audit has left.
func isLast(n int) bool { return n == 39 }

// A lateFleet folded the rows that were on time before the others came.
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
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	w.Insert(t, readings, func(n int) bool { return isLate(n) || isNew(n) && !isLast(n) })
	return &lateFleet{f, readings, w}
}

// check inserts the last row, too, and compares the ends.
func (f *lateFleet) check(t *testing.T, about ...any) {
	t.Helper()
	f.world.Insert(t, f.readings, isLast)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), f.world.want, about...)
}

// audits begins trials with late rows.
func audits(t *testing.T) func() trial {
	w := newLateWorld(t)
	return func() trial {
		f := w.fleetWithLateRows(t)
		return trial{func(through policy.Transporter) *jobs.Pipeline { return f.Pipeline(t, through) }, f.Settle,
			func(about ...any) { t.Helper(); f.check(t, about...) }}
	}
}

func TestAuditFindsLateRows(t *testing.T) {
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	if d := jobstest.Differ(jobstest.WithoutHistory(f.Ends(t)), w.want); d == "" {
		t.Fatal("there is nothing to find")
	}
	r, err := p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 2*8 || r.Missing != 0 || r.Devices != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	f.check(t)
	r, err = p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 0 || r.Refolds != 0 {
		t.Errorf("the second audit: %+v, %v", r, err)
	}
}

// TestAuditOfTheFirstRunLooksAtAllThatIsOldEnough: no run before it has put audits, and one row is too young.
func TestAuditOfTheFirstRunLooksAtAllThatIsOldEnough(t *testing.T) {
	w := jobstest.NewWorldSince(t, 8*time.Hour, 1, 60)
	for late, want := range map[int]int{10: 1, 58: 0} {
		readings := fmt.Sprint("without", late)
		w.Insert(t, readings, func(n int) bool { return n != late })
		f := w.NewFleetOf(t, readings)
		p := f.Pipeline(t, nil)
		must.Succeed(t, f.Drain(t.Context(), p))
		w.Insert(t, readings, func(n int) bool { return n == late })
		if r := jobstest.Do(t, p, f.Audit(refold.Late), jobstest.NoPut{}); r.Late != want {
			t.Errorf("of a late row %d, %d are found", late, r.Late)
		}
	}
}

// TestAuditStaysBelowTheCheckpoint even if no processor has windows, so that the day of the checkpoint is like any
// other.
func TestAuditStaysBelowTheCheckpoint(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	only := func(f *jobstest.Fleet, settle time.Duration) *jobs.Pipeline {
		p := f.Pipeline(t, nil)
		p.Processors, p.Settle = p.Processors[:1], settle // latest
		return p
	}
	calm := w.NewFleet(t)
	must.Succeed(t, calm.Drain(t.Context(), only(calm, 0)))
	w.Insert(t, "other", func(n int) bool { return n != 5 })
	f := w.NewFleetOf(t, "other")
	must.Succeed(t, f.Drain(t.Context(), only(f, time.Hour)))
	w.Insert(t, "other", func(n int) bool { return n == 5 })
	if r, err := only(f, time.Hour).Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil); err != nil ||
		r.Late != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	must.Succeed(t, f.Drain(t.Context(), only(f, 0)))
	jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), jobstest.WithoutHistory(calm.Ends(t)))
}

func TestEqualEndsWithLateRowsAndAnyFault(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, audits(t), true, faults.AnswerLost, faults.Twice, faults.Cut, faults.TimedOutDone, faults.EmptyPage)
}

func TestEqualEndsWhereverAnAuditStops(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, audits(t), func(n int, done, dies bool) bool {
		return done == (n%4 >= 2) && dies == (n%2 == 1)
	})
}

// TestEqualEndsOfTwoAuditors has two workers audit one batch with late rows.
func TestEqualEndsOfTwoAuditors(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := w.fleetWithLateRows(t)
		twoWorkers(t, f.Fleet, seed, f.Settle)
		must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
		f.check(t)
	})
}

func TestRewindAndChangedSettingsFoldAgain(t *testing.T) {
	w := newLateWorld(t)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Settings = "one"
	must.Succeed(t, f.Drain(t.Context(), p))
	spoil(t, f)
	p.Settings = "two"
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || len(r.Reset) != 2 {
		t.Fatalf("under other settings: %+v, %v", r, err)
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.SameEnds(t, withoutSettings(jobstest.WithoutHistory(f.Ends(t))), withoutSettings(w.want), "other settings")
	spoil(t, f)
	for _, d := range w.Devices {
		rewound, err := p.Rewind(t.Context(), w.Member(d, w.Readings), jobs.Rewound{To: 1, At: time.Now(), By: "a test"})
		if err != nil || !rewound {
			t.Fatalf("%s is rewound: %v, %v", d, rewound, err)
		}
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	ends := withoutSettings(jobstest.WithoutHistory(f.Ends(t)))
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Rewound=to [^=]*test`).ReplaceAllString(v, "")
	}
	jobstest.SameEnds(t, ends, withoutSettings(w.want), "after a rewind")
}

func withoutSettings(ends map[string]string) map[string]string {
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Settings=\S*`).ReplaceAllString(v, "")
	}
	return ends
}
