package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fixture is a pipeline's table of runs and its queue in an account.
type fixture struct {
	runs  Runs
	queue *Queue
}

// newFixture reaches its tables and queues through a transport.
func newFixture(t *testing.T, a azuretest.Account, n schema.Names, transport policy.Transporter) fixture {
	t.Helper()
	client := must.Have(tables.Connect(tables.Config{Account: account(t, a), Retry: soon(), Transport: transport}))(t)
	return fixture{Runs{Table: client.Table(n.Runs())}, connect(t, a, Config{Transport: transport}).Queue(n, "live")}
}

func (s fixture) create(t *testing.T) fixture {
	t.Helper()
	must.Succeed(t, errors.Join(s.runs.Table.Create(t.Context()), s.queue.Create(t.Context())))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(s.runs.Table.Delete(ctx), s.queue.DeleteQueues(ctx)); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s fixture) scheduler() *Scheduler {
	return &Scheduler{Pipeline: "live", Cadence: time.Minute, Runs: s.runs, Queue: s.queue, Log: quiet()}
}

// drain takes all master jobs and counts them by slot.
func (s fixture) drain(t *testing.T, masters map[tables.Ticks]int) {
	t.Helper()
	for {
		got := must.Have(s.queue.Get(t.Context(), MaxGet, time.Minute))(t)
		if len(got) == 0 {
			return
		}
		for _, l := range got {
			m, err := jobs.Decode(l.Text())
			if err != nil || m.Kind != jobs.Master {
				t.Fatalf("%+v, %v", m, err)
			}
			masters[m.Run]++
			must.Succeed(t, l.Delete(t.Context()))
		}
	}
}

func TestTwoSchedulersHaveFiftyMastersForFiftySlots(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	s := newFixture(t, a, n, nil).create(t)
	two := []*Scheduler{s.scheduler(), newFixture(t, a, n, nil).scheduler()}
	masters := map[tables.Ticks]int{}
	now := time.Now()
	for range 50 {
		var racing sync.WaitGroup
		outcomes := make([]SlotOutcome, len(two))
		for i, scheduler := range two {
			racing.Go(func() {
				slot, _, err := scheduler.step(t.Context(), slotAt(now, time.Minute))
				if err != nil {
					t.Error(err)
				}
				outcomes[i] = slot.Outcome
			})
		}
		racing.Wait()
		if outcomes[0]+outcomes[1] != SlotEnqueued+SlotTaken {
			t.Errorf("the two say %v", outcomes)
		}
		s.drain(t, masters)
		now = now.Add(time.Minute)
	}
	for slot, n := range masters {
		if n != 1 {
			t.Errorf("slot %v has %d masters", slot.Time(), n)
		}
	}
	if len(masters) != 50 {
		t.Errorf("%d slots have masters", len(masters))
	}
	runs, storage, err := s.runs.Since(t.Context(), "live", 0)
	if err != nil || len(runs) != 50 || time.Since(storage).Abs() > time.Minute {
		t.Errorf("%d runs at %v, %v", len(runs), storage, err)
	}
	for _, r := range runs {
		if !r.Waits() || r.By == "" || time.Since(r.Written.Time()).Abs() > time.Minute {
			t.Errorf("run %+v", r)
		}
	}
}

// TestAMarkLeavesTheJobsFigures: a mark merges into the row.
func TestAMarkLeavesTheJobsFigures(t *testing.T) {
	t.Parallel()
	s := newFixture(t, azuretest.FromEnv(t), names(t), nil).create(t)
	run := schema.Run{Pipeline: "live", Slot: tables.TicksOf(time.Now()), By: "b", Started: 639307630200000000}
	must.Succeed(t, s.runs.Take(t.Context(), run))
	if err := s.runs.Take(t.Context(), run); !errors.Is(err, tables.ErrExists) {
		t.Errorf("a second insert: %v", err)
	}
	must.Succeed(t, s.runs.MarkEnqueued(t.Context(), run, 639307630200000001))
	runs, _, err := s.runs.Since(t.Context(), "live", run.Slot)
	if err != nil || len(runs) != 1 || runs[0].Enqueued != 639307630200000001 || runs[0].Started != run.Started ||
		runs[0].By != "b" {
		t.Errorf("%+v, %v", runs, err)
	}
}

// TestStorageThatMisbehavesLosesNoSlot has storage lose answers and do things twice: every slot has a master, and more
// than one only if a put was repeated.
func TestStorageThatMisbehavesLosesNoSlot(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	a, n := azuretest.FromEnv(t), names(t)
	calm := newFixture(t, a, n, nil).create(t)
	transport := &faults.Transport{Plan: faults.Random{Seed: seed, Rates: map[faults.Fault]float64{
		faults.AnswerLost: 0.1, faults.Twice: 0.1, faults.TimedOutDone: 0.1, faults.ServerBusy: 0.05,
		faults.Cut: 0.05, faults.EmptyPage: 0.05,
	}}}
	rough := newFixture(t, a, n, transport).scheduler()
	masters, wanted := map[tables.Ticks]int{}, 0
	now := time.Now()
	for range 20 {
		for {
			slot, wait, err := rough.step(t.Context(), slotAt(now, time.Minute))
			if err == nil && wait == 0 && slot.Outcome != 0 {
				break
			}
			if wait > 0 {
				t.Fatalf("the scheduler waits for another: %+v", slot)
			}
		}
		wanted++
		calm.drain(t, masters)
		now = now.Add(time.Minute)
	}
	if len(masters) != wanted {
		t.Errorf("%d slots of %d have masters", len(masters), wanted)
	}
	runs, _, err := calm.runs.Since(t.Context(), "live", 0)
	if err != nil || len(runs) != wanted {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if r.Enqueued == 0 {
			t.Errorf("run %+v is not marked", r)
		}
	}
}
