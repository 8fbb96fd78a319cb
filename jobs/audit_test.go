package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
)

// A lateWorld has readings of six days, of which some come late: when those
// around them have been folded long ago.
type lateWorld struct {
	*world
	want map[string]string // ends of a fleet for which all were there from the beginning
}

func newLateWorld(t *testing.T) *lateWorld {
	w := newWorldSince(t, 6*24*time.Hour, 2, 40)
	f := w.newFleet(t)
	must(t, f.drain(t.Context(), f.pipeline(t, nil)))
	return &lateWorld{w, calmly(f.ends(t))}
}

// isLate are rows of the first days, of a day ago, and of the last hours and
// minutes. Among them is the key of no reading.
func isLate(n int) bool { return slices.Contains([]int{1, 3, 4, 24, 26, 29, 34, 35}, n) }

// isNew are rows that are there when the late ones have come.
func isNew(n int) bool { return n >= 38 }

// fleetWithLateRows has folded what was on time, and then the others came.
func (w *lateWorld) fleetWithLateRows(t *testing.T) *fleet {
	t.Helper()
	readings := fmt.Sprintf("late%d", w.fleets.Load())
	w.insert(t, readings, func(n int) bool { return !isLate(n) && !isNew(n) })
	f := w.newFleetOf(t, readings)
	must(t, f.drain(t.Context(), f.pipeline(t, nil)))
	w.insert(t, readings, func(n int) bool { return isLate(n) || isNew(n) })
	return f
}

// settle works and audits until neither finds anything.
func (f *fleet) settle(ctx context.Context, p *jobs.Pipeline) error {
	var last error
	for try := range 100 {
		time.Sleep(time.Duration(rand.IntN(1+try)) * time.Millisecond) // two who meet must not go on meeting
		err := f.drain(ctx, p)
		var r jobs.Result
		if err == nil {
			r, err = p.Do(ctx, f.audit(jobs.Full), noPut{}, nil)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last = err; err == nil && r.Refolds == 0 && r.Overtaken == 0 && len(r.Failed) == 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no end: %v", last)
}

func (f *fleet) audit(depth jobs.Depth) jobs.Message {
	return jobs.Message{Kind: jobs.Audit, Audit: depth, Pipeline: "live", Run: tables.TicksOf(time.Now()),
		Month: f.batch.Month, First: f.batch.First, Last: f.batch.Last}
}

// noPut takes messages and forgets them.
type noPut struct{}

func (noPut) Put(context.Context, jobs.Message, time.Duration) error { return nil }

// calmly leaves out of the ends what says how they came about.
func calmly(ends map[string]string) map[string]string {
	how := regexp.MustCompile(` (State_\w+|Late|Rejects|LedgerFrom|Refold|Attempts|Held|HeldUntil)=\S*`)
	for k, v := range ends {
		if strings.HasPrefix(k, "partitions") {
			ends[k] = how.ReplaceAllString(v, "")
		}
	}
	return ends
}

func TestAuditFindsLateRows(t *testing.T) {
	w := newLateWorld(t)
	f := w.fleetWithLateRows(t)
	p := f.pipeline(t, nil)
	must(t, f.drain(t.Context(), p))
	if d := differ(calmly(f.ends(t)), w.want); d == "" {
		t.Fatal("there is nothing to find")
	}
	r, err := p.Do(t.Context(), f.audit(jobs.Full), noPut{}, nil)
	if err != nil || r.Late != 2*8 || r.Missing != 0 || r.Devices != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := differ(calmly(f.ends(t)), w.want); d != "" {
		t.Fatal(d)
	}
	r, err = p.Do(t.Context(), f.audit(jobs.Full), noPut{}, nil)
	if err != nil || r.Late != 0 || r.Refolds != 0 {
		t.Errorf("the second audit: %+v, %v", r, err)
	}
}

func TestShortAuditLooksAtTheLastHours(t *testing.T) {
	w := newWorld(t, 1, 60)
	readings := "short"
	w.insert(t, readings, func(n int) bool { return n != 20 && n != 50 })
	f := w.newFleetOf(t, readings)
	p := f.pipeline(t, nil)
	must(t, f.drain(t.Context(), p))
	w.insert(t, readings, func(n int) bool { return n == 20 || n == 50 })
	if r, err := p.Do(t.Context(), f.audit(jobs.Short), noPut{}, nil); err != nil || r.Late != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestEqualEndsWithLateRows lets every fault befall every operation of a device
// job and an audit, one at a time.
func TestEqualEndsWithLateRows(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	count := &gate{at: -1}
	f := w.fleetWithLateRows(t)
	must(t, f.settle(t.Context(), f.pipeline(t, count)))
	operations := int(count.n.Load())
	all := []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.TimedOutDone, faults.EmptyPage}
	for i, fault := range all {
		for n := range operations {
			if !*every && n%len(all) != i {
				continue
			}
			f := w.fleetWithLateRows(t)
			must(t, f.settle(t.Context(), f.pipeline(t, &faults.Transport{Plan: faults.Script{n: fault}})))
			if d := differ(calmly(f.ends(t)), w.want); d != "" {
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
	count := &gate{at: -1}
	f := w.fleetWithLateRows(t)
	must(t, f.settle(t.Context(), f.pipeline(t, count)))
	for n := range int(count.n.Load()) {
		for i, done := range []bool{false, true} {
			for k, dies := range []bool{false, true} {
				if !*every && (n+i)%2 != k {
					continue
				}
				f := w.fleetWithLateRows(t)
				other := f.pipeline(t, nil)
				ctx, kill := context.WithCancel(t.Context())
				stopping := &gate{at: n, stop: func(send func() (*http.Response, error)) (r *http.Response, err error) {
					if done {
						r, err = send()
					}
					if dies {
						kill()
						return nil, errors.Join(err, context.Canceled)
					}
					if err := f.settle(t.Context(), other); err != nil {
						return nil, err
					}
					if !done {
						r, err = send()
					}
					return r, err
				}}
				if err := f.settle(ctx, f.pipeline(t, stopping)); err != nil && !dies {
					t.Fatalf("operation %d: %v", n, err)
				}
				must(t, f.settle(t.Context(), other))
				if d := differ(calmly(f.ends(t)), w.want); d != "" {
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
	seed := *seedFrom
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds %d and the %d after it", seed, *seeds-1)
	w := newLateWorld(t)
	for i := range uint64(*seeds) {
		f := w.fleetWithLateRows(t)
		var working sync.WaitGroup
		for worker := range uint64(2) {
			p := f.pipeline(t, &faults.Transport{Plan: faults.Random{Seed: 2*(seed+i) + worker, Rates: someFaults()}, Delay: 20 * time.Millisecond})
			p.Portion, p.Most = 7+int((seed+i)%30), 20+int((seed+i)%100)
			working.Go(func() {
				if err := f.settle(t.Context(), p); err != nil {
					t.Errorf("seed %d: %v", seed+i, err)
				}
			})
		}
		working.Wait()
		must(t, f.settle(t.Context(), f.pipeline(t, nil)))
		if d := differ(calmly(f.ends(t)), w.want); d != "" {
			t.Fatalf("seed %d: %s", seed+i, d)
		}
	}
}

func TestRewindAndChangedSettingsFoldAnew(t *testing.T) {
	w := newLateWorld(t)
	f := w.newFleet(t)
	p := f.pipeline(t, nil)
	p.Settings = "one"
	must(t, f.drain(t.Context(), p))
	spoil := func() {
		client := w.connect(t, nil)
		for page, err := range client.Table(f.names.Rollups()).Rows(t.Context(), tables.Query{}) {
			must(t, err)
			for _, e := range page.Rows {
				e.Set("temperature", tables.String("[1,1,1,1,1,1]"))
				e.Set("spoilt", tables.Boolean(true))
				e.Set(jobs.FenceProperty, tables.Int64(1))
				_, err := client.Table(f.names.Rollups()).Do(t.Context(), tables.InsertOrReplace(e))
				must(t, err)
			}
		}
	}
	spoil()
	p.Settings = "two"
	r, err := p.Run(t.Context(), f.batch)
	if err != nil || len(r.Anew) != 2 {
		t.Fatalf("under other settings: %+v, %v", r, err)
	}
	must(t, f.settle(t.Context(), p))
	if d := differ(withoutSettings(calmly(f.ends(t))), withoutSettings(w.want)); d != "" {
		t.Fatalf("after other settings: %s", d)
	}
	spoil()
	for _, d := range w.devices {
		rewound, err := p.Rewind(t.Context(), month, d, jobs.Rewound{To: 1, At: time.Now(), By: "a test"})
		if err != nil || !rewound {
			t.Fatalf("%s is rewound: %v, %v", d, rewound, err)
		}
	}
	must(t, f.settle(t.Context(), p))
	ends := withoutSettings(calmly(f.ends(t)))
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Rewound=to [^=]*test`).ReplaceAllString(v, "")
	}
	if d := differ(ends, withoutSettings(w.want)); d != "" {
		t.Fatalf("after a rewind: %s", d)
	}
}

func withoutSettings(ends map[string]string) map[string]string {
	for k, v := range ends {
		ends[k] = regexp.MustCompile(` Settings=\S*`).ReplaceAllString(v, "")
	}
	return ends
}
