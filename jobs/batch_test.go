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

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/rollup"
	"furrow/tables/azuretest/faults"
	"furrow/tables/schema"
)

var (
	seeds    = flag.Int("jobs.seeds", 12, "how many random schedules the TestEqualEndsOfTwo… run, each")
	every    = flag.Bool("jobs.every", false, "whether everything befalls every operation of an audit, not one thing each")
	seedFrom = flag.Uint64("jobs.seed", 0, "the first of them; 0 takes one from the clock")
)

// calm is what one worker makes of the fleet without any trouble, and how many
// operations its second half takes.
func calm(t *testing.T, w *jobstest.World) (want map[string]string, operations int) {
	t.Helper()
	f := w.NewFleet(t)
	f.FirstHalf(t)
	count := &jobstest.Gate{At: -1}
	jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, count)))
	return f.Ends(t), int(count.N.Load())
}

func TestCalmRunFoldsEveryRowOnce(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 200)
	ends, _ := calm(t, w)
	for _, d := range w.Devices {
		track := ends["partitionslive/2026-11/"+string(w.Place(d).Key)]
		if !strings.Contains(track, " Rows=200") || !strings.Contains(track, " Rejects=36") { // 18 keys, 18 nans
			t.Errorf("the track of %s is %.300s", d, track)
		}
	}
	// Every temperature is in one bucket of each size: 200 rows but 18 with bad keys.
	for _, window := range []string{"1m", "1h", "1d"} {
		count := int64(0)
		for key, row := range ends {
			if strings.HasPrefix(key, "rollups/t0!"+window+"!") && strings.Contains(key, "contoso:d00!") {
				_, text, _ := strings.Cut(row, " temperature=")
				text, _, _ = strings.Cut(text, " ")
				a, err := rollup.ParseAggregate(text)
				jobstest.Must(t, err)
				count += a.Count
			}
		}
		if count != 182 {
			t.Errorf("window %s has %d temperatures, want 182", window, count)
		}
	}
}

// passed tells whether an operation is left alone: under -short, with which races
// are looked for, six of seven. What befalls one in turn takes 2, 5 or 6 turns, so
// that each of them still comes up.
func passed(n int) bool { return testing.Short() && n%7 != 0 }

// TestEqualEndsWhateverBefallsAnOperation lets every fault befall every
// operation of a run, one at a time.
func TestEqualEndsWhateverBefallsAnOperation(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 3, 60)
	want, operations := calm(t, w)
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone, faults.EmptyPage} {
		for n := range operations {
			if passed(n) {
				continue
			}
			f := w.NewFleet(t)
			f.FirstHalf(t)
			p := f.Pipeline(t, &faults.Transport{Plan: faults.Script{n: fault}})
			jobstest.Must(t, f.Drain(t.Context(), p))
			if d := jobstest.Differ(f.Ends(t), want); d != "" {
				t.Fatalf("%s at operation %d: %s", fault, n, d)
			}
		}
	}
	t.Logf("%d operations", operations)
}

// TestEqualEndsWhereverAWorkerDies kills a worker just before and just after
// every operation; another one does the rest.
func TestEqualEndsWhereverAWorkerDies(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 3, 60)
	want, operations := calm(t, w)
	for n := range operations {
		if passed(n) {
			continue
		}
		for _, done := range []bool{false, true} {
			f := w.NewFleet(t)
			f.FirstHalf(t)
			ctx, kill := context.WithCancel(t.Context())
			dying := &jobstest.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				if done {
					if r, err := send(); err == nil {
						r.Body.Close()
					}
				}
				kill()
				return nil, context.Canceled
			}}
			if err := f.Drain(ctx, f.Pipeline(t, dying)); !errors.Is(err, context.Canceled) {
				t.Fatalf("killed at operation %d: %v", n, err)
			}
			jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
			if d := jobstest.Differ(f.Ends(t), want); d != "" {
				t.Fatalf("killed at operation %d (done %v): %s", n, done, d)
			}
		}
	}
}

// TestEqualEndsAfterAWorkerSlept stops a worker before and after every operation
// for as long as another one does everything, and lets it go on then: it must
// change nothing of that any more, although it has read less.
func TestEqualEndsAfterAWorkerSlept(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 3, 60)
	want, _ := calm(t, w)
	slow := func(f *jobstest.Fleet, g *jobstest.Gate) {
		p := f.Pipeline(t, g)
		p.Portion = 10
		if _, err := p.Run(t.Context(), f.Batch); err != nil {
			t.Fatal(err)
		}
	}
	count := &jobstest.Gate{At: -1}
	f := w.NewFleet(t)
	f.FirstHalf(t)
	slow(f, count)
	for n := range int(count.N.Load()) {
		if passed(n) {
			continue
		}
		for _, done := range []bool{false, true} {
			f := w.NewFleet(t)
			f.FirstHalf(t)
			other := f.Pipeline(t, nil)
			slow(f, &jobstest.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				if !done {
					if err := f.Drain(t.Context(), other); err != nil {
						return nil, err
					}
					return send()
				}
				r, err := send()
				return r, errors.Join(err, f.Drain(t.Context(), other))
			}})
			if d := jobstest.Differ(f.Ends(t), want); d != "" {
				t.Fatalf("slept at operation %d (done %v): %s", n, done, d)
			}
			jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
			if d := jobstest.Differ(f.Ends(t), want); d != "" {
				t.Fatalf("slept at operation %d (done %v), in the end: %s", n, done, d)
			}
		}
	}
}

// TestEqualEndsOfTwoWorkers lets two workers with portions of their own loose on
// one batch, each with random faults.
func TestEqualEndsOfTwoWorkers(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 4, 60)
	want, _ := calm(t, w)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := w.NewFleet(t)
		f.FirstHalf(t)
		twoWorkers(t, f, seed, f.Drain)
		jobstest.Must(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
		if d := jobstest.Differ(f.Ends(t), want); d != "" {
			t.Fatal(d)
		}
	})
}

// eachSeed runs a test for each seed that was asked for. They mostly wait, so more
// of them than there are processors may run at a time: -parallel says how many.
func eachSeed(t *testing.T, test func(t *testing.T, seed uint64)) {
	first := *seedFrom
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds %d and the %d after it", first, *seeds-1)
	for i := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", first+i), func(t *testing.T) {
			t.Parallel()
			test(t, first+i)
		})
	}
}

// twoWorkers lets two workers with portions of their own loose on one batch, each
// with random faults, until both are done.
func twoWorkers(t *testing.T, f *jobstest.Fleet, seed uint64, work func(context.Context, *jobs.Pipeline) error) {
	t.Helper()
	var working sync.WaitGroup
	for worker := range uint64(2) {
		p := f.Pipeline(t, &faults.Transport{Plan: faults.Random{Seed: 2*seed + worker, Rates: someFaults()},
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

// A panicking processor panics at one device.
type panicking struct{ device schema.DeviceID }

func (f panicking) Fold(d schema.Member, _ []byte, _ []jobs.Sample) (jobs.FoldResult, error) {
	if d.Device == f.device {
		panic("as asked")
	}
	return jobs.FoldResult{State: []byte{1}}, nil
}

func TestPanicOfAFoldHoldsUpNobodyElse(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 30)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Processors = append(p.Processors, custom("bad", panicking{w.Devices[1]}))
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || r.Folded != 2 || len(r.Failed) != 1 || r.Failed[w.Place(w.Devices[1])] == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := fmt.Sprint(r.Failed[w.Place(w.Devices[1])]); !strings.Contains(got, "as asked") {
		t.Errorf("the cause is %.80s", got)
	}
	track := f.Ends(t)["partitionslive/2026-11/"+string(w.Place(w.Devices[1]).Key)]
	if !strings.Contains(track, "Attempts=1") || strings.Contains(track, "Fence") || strings.Contains(track, "Rows") {
		t.Errorf("the track of the device whose fold panicked is %s", track)
	}
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
