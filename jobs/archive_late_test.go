package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// lateArchive is a fleet that folded most rows before the others came. Its days are in tables already, or wait.
func (w *lateWorld) lateArchive(t *testing.T, made bool) *jobstest.Fleet {
	t.Helper()
	readings := fmt.Sprintf("late%d", w.made.Add(1))
	w.Insert(t, readings, func(n int) bool { return !isLate(n) && !isNew(n) })
	f := w.NewFleetOf(t, readings)
	p := filing(t, f, nil)
	newArchive(t, p)
	must.Succeed(t, f.Drain(t.Context(), p))
	if made {
		must.Succeed(t, file(t.Context(), p))
	}
	w.Insert(t, readings, func(n int) bool { return isLate(n) || isNew(n) })
	return f
}

// settleFiles has a pipeline fold and file until it does so without trouble.
func settleFiles(f *jobstest.Fleet) func(context.Context, *jobs.Pipeline) error {
	return func(ctx context.Context, p *jobs.Pipeline) (err error) {
		for range 100 {
			if err = errors.Join(f.Settle(ctx, p), file(ctx, p)); err == nil || ctx.Err() != nil {
				return err
			}
		}
		return fmt.Errorf("there is no end: %w", err)
	}
}

// archived returns the ends of a fleet with its archive.
func archived(t *testing.T, f *jobstest.Fleet) map[string]string {
	t.Helper()
	ends := jobstest.WithoutHistory(f.Ends(t))
	maps.DeleteFunc(ends, func(key, _ string) bool { return strings.Contains(key, "/!group!") })
	maps.Copy(ends, filed(t, f))
	return ends
}

// TestLateRowsBeforeADayIsMadeNeedNoSecondFile, though no audit has found them. One that does leaves everything as it
// is.
func TestLateRowsBeforeADayIsMadeNeedNoSecondFile(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	w := &lateWorld{World: jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)}
	f := w.lateArchive(t, false)
	p := filing(t, f, nil)
	must.Succeed(t, file(t.Context(), p))
	jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false))
	for name := range objects(t, f.World.Account, f.Names.Archive()) {
		folder, file, is := strings.Cut(name, "/readings/date=")
		if is && logOf(t, objects(t, f.World.Account, f.Names.Archive()), folder+"/readings/")[name] == "" {
			t.Errorf("file %s was made for nothing", file)
		}
	}
	r := must.Have(p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil))(t)
	if r.Late != 2*8 || r.Missing != 0 || r.Refolds == 0 {
		t.Errorf("the audit: %+v", r)
	}
	if track := f.Track(t, w.Devices[0]); track.Get("Rows").Int() != 40 {
		t.Errorf("%v rows were counted of 40", track.Get("Rows"))
	}
	must.Succeed(t, file(t.Context(), p))
	jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false), "after the audit")
}

// TestArchiveHasEveryReadingOfTheClosedDaysOnce: those that come late once an audit has found them, which looks a week
// and a day back.
func TestArchiveHasEveryReadingOfTheClosedDaysOnce(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	w := jobstest.NewWorldSince(t, 14*24*time.Hour, 2, 60)
	late := func(n int) bool { return n%9 == 4 }
	w.Insert(t, "late", func(n int) bool { return !late(n) })
	f := w.NewFleetOf(t, "late")
	p := filing(t, f, nil)
	newArchive(t, p)
	work := func() map[string]string {
		for range 2 { // the first run leaves marks
			must.Succeed(t, file(t.Context(), p))
		}
		return filed(t, f)
	}
	before := closedReadings(t, f, false)
	jobstest.SameEnds(t, work(), before)
	w.Insert(t, "late", late)
	jobstest.SameEnds(t, work(), before, "without an audit")
	r := must.Have(p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil))(t)
	if r.Late == 0 || r.Refolds == 0 {
		t.Errorf("the audit: %+v", r)
	}
	after, want := work(), closedReadings(t, f, false)
	horizon := tables.TicksOf(time.Now().Add(-8 * 24 * time.Hour)).String()
	for _, all := range []map[string]string{after, want} {
		maps.DeleteFunc(all, func(id, _ string) bool { // it may be of a day that is made again
			_, key, _ := strings.Cut(id, "/")
			return before[id] == "" && key < horizon
		})
	}
	if len(want) <= len(before) {
		t.Fatalf("%d readings before, and %d to come to", len(before), len(want))
	}
	jobstest.SameEnds(t, after, want, "after an audit")
	nothingWrong(t, p, "after an audit")
}

// archives begins trials of late rows for an archive, whose tables and files both meet trouble. The late rows of every
// second trial come when their days have been made.
func archives(t *testing.T) func() trial {
	w := &lateWorld{World: jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)}
	calm := w.lateArchive(t, false)
	must.Succeed(t, settleFiles(calm)(t.Context(), filing(t, calm, nil)))
	want, n := archived(t, calm), 0
	jobstest.SameEnds(t, filed(t, calm), closedReadings(t, calm, false))
	return func() trial {
		n++
		f := w.lateArchive(t, n%2 == 1)
		return trial{func(through policy.Transporter) *jobs.Pipeline { return filing(t, f, through) }, settleFiles(f),
			func(about ...any) {
				t.Helper()
				jobstest.SameEnds(t, archived(t, f), want, about...)
				nothingWrong(t, filing(t, f, nil), fmt.Sprint(about...))
			}}
	}
}

func TestEqualArchivesWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, archives(t), true, faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOutDone,
		faults.EmptyPage)
}

func TestEqualArchivesWhereverAWorkerStops(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, archives(t), func(n int, done, dies bool) bool { return (n%2 == 0) == (done == dies) })
}

// TestRowsThatComeWhileTheirDayIsMadeAreNotForgotten: at any operation of a group job, late rows come, and audits find
// them. It goes on with what it has read.
func TestRowsThatComeWhileTheirDayIsMadeAreNotForgotten(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := &lateWorld{World: jobstest.NewWorldSince(t, 3*24*time.Hour, 2, 40)}
	late := func(n int) bool { return n%5 == 2 }
	during := func(n int) (operations int) {
		readings := fmt.Sprintf("during%d", w.made.Add(1))
		w.Insert(t, readings, func(n int) bool { return !late(n) })
		f := w.NewFleetOf(t, readings)
		calm := filing(t, f, nil)
		newArchive(t, calm)
		must.Succeed(t, f.Drain(t.Context(), calm))
		gate := stopAt(n, false, func() error {
			w.Insert(t, readings, late)
			return f.Settle(t.Context(), calm)
		})
		_ = file(t.Context(), filing(t, f, gate)) // another may have been faster
		for left := []string{""}; len(left) > 0; left = closedMarks(t, f) {
			must.Succeed(t, file(t.Context(), calm))
		}
		jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false), "late rows at operation ", n)
		return int(gate.N.Load())
	}
	for _, n := range effort.Of(during(-1), 30) {
		during(n)
	}
}
