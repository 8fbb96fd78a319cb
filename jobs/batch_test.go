package jobs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/rollup"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var seedFrom = flag.Uint64("jobs.seed", 0, "the seed of the first random schedule; 0 takes one from the clock")

// schedules is how many random schedules a test runs. Any of them finds most races.
func schedules() int { return len(effort.Of(40, 1)) }

// calm returns what one worker makes of the fleet without any trouble.
func calm(t *testing.T, w *jobstest.World) (want map[string]string) {
	t.Helper()
	f := w.NewFleet(t)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	return f.Ends(t)
}

// TestTrackingRowSaysWhatTheLastBatchHad, until another one has rows.
func TestTrackingRowSaysWhatTheLastBatchHad(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 1, 200).NewFleet(t)
	p := f.Pipeline(t, nil)
	says := func(want int64) {
		t.Helper()
		track := must.Have(schema.TrackOf(f.Track(t, f.World.Devices[0])))(t)
		if track.BatchRows != want || track.BatchTook <= 0 || track.BatchTook > time.Minute {
			t.Errorf("the last batch had %d rows in %v, want %d", track.BatchRows, track.BatchTook, want)
		}
	}
	f.FirstHalf(t)
	says(101)
	for range 2 {
		must.Have(p.Run(t.Context(), f.Batch))(t)
		says(99)
	}
}

func TestCalmRunFoldsEveryRowOnce(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 200)
	ends := calm(t, w)
	for _, d := range w.Devices {
		track := ends["partitionslive/2026-11/"+string(w.Place(d).Key)]
		if !strings.Contains(track, " Rows=200") || !strings.Contains(track, " Rejects=36") { // 18 keys, 18 nans
			t.Errorf("the track of %s is %.300s", d, track)
		}
	}
	// Every temperature is in one bucket of each size: 200 rows except 18 with bad keys.
	for _, window := range []string{"1m", "1h", "1d"} {
		count := int64(0)
		for key, row := range ends {
			if strings.HasPrefix(key, "rollups/t0!"+window+"!") && strings.Contains(key, "contoso:d00!") {
				_, text, _ := strings.Cut(row, " temperature=")
				text, _, _ = strings.Cut(text, " ")
				a := must.Have(rollup.ParseAggregate(text))(t)
				count += a.Count
			}
		}
		if count != 182 {
			t.Errorf("window %s has %d temperatures, want 182", window, count)
		}
	}
}

// A trial is a fleet for a worker that has trouble, and a check of what the fleet comes to.
type trial struct {
	pipeline func(through policy.Transporter) *jobs.Pipeline
	work     func(context.Context, *jobs.Pipeline) error
	check    func(about ...any)
}

// secondHalf begins trials of a batch whose first half is folded.
func secondHalf(t *testing.T, w *jobstest.World) func() trial {
	want := calm(t, w)
	return func() trial {
		f := w.NewFleet(t)
		f.FirstHalf(t)
		return trial{func(through policy.Transporter) *jobs.Pipeline { return f.Pipeline(t, through) }, f.Drain,
			func(about ...any) { t.Helper(); jobstest.SameEnds(t, f.Ends(t), want, about...) }}
	}
}

// tried is how many of a trial's operations a test has trouble at where it does not try all.
const tried = 12

// operations counts the operations of a trial without trouble, and returns those to try.
func operations(t *testing.T, begin func() trial) []int {
	count, calm := &faults.Gate{At: -1}, begin()
	must.Succeed(t, calm.work(t.Context(), calm.pipeline(count)))
	t.Logf("%d operations", count.N.Load())
	return effort.Of(int(count.N.Load()), tried)
}

// everyFault injects faults into operations of trials: all of them in turn, or with inTurn one at each operation.
func everyFault(t *testing.T, begin func() trial, inTurn bool, all ...faults.Fault) {
	t.Helper()
	for turn, n := range operations(t, begin) {
		for i, fault := range all {
			if inTurn && turn%len(all) != i {
				continue
			}
			f := begin()
			must.Succeed(t, f.work(t.Context(), f.pipeline(&faults.Transport{Plan: faults.Script{n: fault}})))
			f.check(fault, " at operation ", n)
		}
	}
}

// everyStop stops the workers of trials before and after operations: they are killed, or sleep while another worker
// does everything. wanted says which of the four are tried at an operation, by its place among those that are tried.
func everyStop(t *testing.T, begin func() trial, wanted func(turn int, done, dies bool) bool) {
	t.Helper()
	for turn, n := range operations(t, begin) {
		for k := range 4 {
			done, dies := k&1 != 0, k&2 != 0
			if !wanted(turn, done, dies) {
				continue
			}
			f := begin()
			other := f.pipeline(nil)
			ctx, kill := context.WithCancel(t.Context())
			stopping := stopAt(n, done, func() error {
				if dies {
					kill()
					return context.Canceled
				}
				return f.work(t.Context(), other)
			})
			if err := f.work(ctx, f.pipeline(stopping)); err != nil && !dies {
				t.Fatalf("operation %d: %v", n, err)
			}
			kill()
			must.Succeed(t, f.work(t.Context(), other))
			f.check("operation ", n, ", done ", done, ", dies ", dies)
		}
	}
}

// stopAt is a transport that stops before its nth operation, or after it if done is true. The worker goes on if stop
// returns no error.
func stopAt(n int, done bool, stop func() error) *faults.Gate {
	return &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (r *http.Response, err error) {
		if done {
			r, err = send()
		}
		if stopped := stop(); stopped != nil {
			return nil, errors.Join(err, stopped)
		}
		if !done {
			r, err = send()
		}
		return r, err
	}}
}

func TestEqualEndsWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, secondHalf(t, jobstest.NewWorld(t, 3, 60)), false, faults.AnswerLost, faults.Twice, faults.Cut,
		faults.ServerBusy, faults.TimedOut, faults.TimedOutDone, faults.EmptyPage)
}

func TestEqualEndsWhereverAWorkerDies(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, secondHalf(t, jobstest.NewWorld(t, 3, 60)), func(_ int, _, dies bool) bool { return dies })
}

// TestEqualEndsAfterAWorkerSlept stops a worker before and after every operation while another one does everything.
// Then it goes on, and must not change anything, although it has read less.
func TestEqualEndsAfterAWorkerSlept(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := jobstest.NewWorld(t, 3, 60)
	want := calm(t, w)
	slow := func(done bool, n int) (f *jobstest.Fleet, operations int) {
		f = w.NewFleet(t)
		f.FirstHalf(t)
		gate := stopAt(n, done, func() error { return f.Drain(t.Context(), f.Pipeline(t, nil)) })
		p := f.Pipeline(t, gate)
		p.Portion = 10
		must.Have(p.Run(t.Context(), f.Batch))(t)
		return f, int(gate.N.Load())
	}
	_, operations := slow(false, -1)
	for _, n := range effort.Of(operations, tried) {
		for _, done := range []bool{false, true} {
			f, _ := slow(done, n)
			jobstest.SameEnds(t, f.Ends(t), want, "slept at operation ", n, ", done ", done)
			must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
			jobstest.SameEnds(t, f.Ends(t), want, "slept at operation ", n, ", done ", done, ", in the end")
		}
	}
}

// TestEqualEndsOfTwoWorkers has two workers with different portions and random faults do one batch.
func TestEqualEndsOfTwoWorkers(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 4, 60)
	w.Rates = true
	want := calm(t, w)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := w.NewFleet(t)
		f.FirstHalf(t)
		twoWorkers(t, f, seed, f.Drain)
		must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
		jobstest.SameEnds(t, f.Ends(t), want)
	})
}

// eachSeed runs a test for each requested seed. The tests mostly wait, so more of them than processors may run at a
// time: -parallel says how many.
func eachSeed(t *testing.T, test func(t *testing.T, seed uint64)) {
	first := *seedFrom
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds %d and the %d after it", first, schedules()-1)
	for i := range uint64(schedules()) {
		t.Run(fmt.Sprint("seed=", first+i), func(t *testing.T) {
			t.Parallel()
			test(t, first+i)
		})
	}
}

// twoWorkers has two workers with different portions and random faults do one batch until both are done. The faults
// end: an audit needs twelve operations in a row that succeed, and with a fault at every fourth of them, one schedule
// in ten would take minutes.
func twoWorkers(t *testing.T, f *jobstest.Fleet, seed uint64, work func(context.Context, *jobs.Pipeline) error) {
	t.Helper()
	var working sync.WaitGroup
	for worker := range uint64(2) {
		p := f.Pipeline(t, &faults.Transport{Plan: faults.Random{Seed: 2*seed + worker, Rates: someFaults(), First: 600},
			Delay: 20 * time.Millisecond})
		p.Portion, p.Most = 7+int(seed%30), 20+int(seed%100)
		working.Go(func() {
			if err := work(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
}

func someFaults() map[faults.Fault]float64 {
	return map[faults.Fault]float64{faults.AnswerLost: .04, faults.Twice: .04, faults.Cut: .04, faults.ServerBusy: .04,
		faults.TimedOut: .04, faults.TimedOutDone: .04, faults.EmptyPage: .1, faults.Late: .05}
}

func TestRowsYoungerThanTheHorizonWait(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Settle = time.Hour
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || r.Rows == 0 || r.Rows == 20 {
		t.Fatalf("with an hour to settle: %+v, %v", r, err)
	}
	before := r.Rows
	p.Settle = 0
	if r, err = p.Run(t.Context(), f.Batch); err != nil || r.Rows != 20-before {
		t.Errorf("the rest: %+v, %v", r, err)
	}
}
