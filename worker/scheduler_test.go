package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

// fakeRuns are the rows of the table runs, with the hooks of the queue beside them.
type fakeRuns struct {
	queue *fakeQueue
	mu    sync.Mutex
	rows  []tables.Run
}

func (r *fakeRuns) do(op string, f func() error) error {
	return r.queue.do(op, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f()
	})
}

func (r *fakeRuns) find(slot tables.Ticks) *tables.Run {
	i := slices.IndexFunc(r.rows, func(run tables.Run) bool { return run.Slot == slot })
	if i < 0 {
		return nil
	}
	return &r.rows[i]
}

func (r *fakeRuns) Insert(_ context.Context, run tables.Run) error {
	return r.do("insert", func() error {
		if r.find(run.Slot) != nil {
			return tables.ErrExists
		}
		run.Written = tables.TicksOf(time.Now())
		r.rows = append(r.rows, run)
		return nil
	})
}

func (r *fakeRuns) MarkEnqueued(_ context.Context, run tables.Run, at tables.Ticks) error {
	return r.do("mark", func() error {
		row := r.find(run.Slot)
		if row == nil {
			return tables.ErrNotFound
		}
		row.Enqueued, row.Written = at, tables.TicksOf(time.Now())
		return nil
	})
}

func (r *fakeRuns) Since(_ context.Context, _ tables.Pipeline, slot tables.Ticks) (runs []tables.Run, now time.Time, err error) {
	err = r.do("since", func() error {
		for _, run := range r.rows {
			if run.Slot >= slot {
				runs = append(runs, run)
			}
		}
		slices.SortFunc(runs, func(a, b tables.Run) int { return cmp.Compare(a.Slot, b.Slot) })
		return nil
	})
	return runs, time.Now().Truncate(time.Second), err
}

// work takes what is in the queue as workers would, and gives the slots of its
// master jobs; each run then has so many batches.
func (r *fakeRuns) work(t *testing.T, batches int64) (slots []tables.Ticks) {
	t.Helper()
	got, err := r.queue.Get(t.Context(), 1000, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range got {
		m, err := jobs.Decode(l.Text())
		if err != nil || m.Kind != jobs.Master {
			t.Fatalf("%+v, %v", m, err)
		}
		slots = append(slots, m.Run)
		row := r.find(m.Run)
		row.Started, row.Batches = tables.TicksOf(time.Now()), batches
		if err := l.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return slots
}

func newRuns() *fakeRuns { return &fakeRuns{queue: &fakeQueue{}} }

func (r *fakeRuns) scheduler() *Scheduler {
	return &Scheduler{Pipeline: "live", Cadence: time.Minute, Runs: r, Queue: r.queue, Log: quiet()}
}

func once(t *testing.T, s *Scheduler) Slot {
	t.Helper()
	slot, err := s.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func TestSlotsAreMultiplesOfTheCadenceSinceTheEpoch(t *testing.T) {
	for _, c := range []struct {
		cadence  time.Duration
		at, want string
	}{
		{time.Minute, "2026-11-20T09:17:59.9999999Z", "2026-11-20T09:17:00Z"},
		{time.Minute, "2026-11-20T09:18:00Z", "2026-11-20T09:18:00Z"},
		{24 * time.Hour, "2026-11-20T23:59:59+01:00", "2026-11-20T00:00:00Z"},
		{7 * 24 * time.Hour, "1970-01-09T00:00:00Z", "1970-01-08T00:00:00Z"},
		{7 * time.Minute, "1970-01-01T00:20:00Z", "1970-01-01T00:14:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := slotAt(at, c.cadence).Time().Format(time.RFC3339Nano); got != c.want {
			t.Errorf("every %v, %s is in slot %s, want %s", c.cadence, c.at, got, c.want)
		}
	}
}

func TestEverySlotHasOneMasterWhoeverSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() {
				if err := r.scheduler().Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		var slots []tables.Ticks
		for range 60 {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			slots = append(slots, r.work(t, 100)...)
		}
		cancel()
		running.Wait()
		if len(slots) != 31 { // the first when they started, the last half an hour later
			t.Fatalf("%d masters in half an hour", len(slots))
		}
		for i := range slots {
			if slots[i] != slots[0].Add(time.Duration(i)*time.Minute) {
				t.Errorf("master %d is of %v", i, slots[i].Time())
			}
		}
	})
}

var errCrash = errors.New("the scheduler is dead")

func TestACrashBetweenAnyTwoStepsLosesNoSlot(t *testing.T) {
	for _, op := range []string{"since", "depth", "insert", "put", "mark"} {
		for _, done := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRuns()
				crash := func(at string) error {
					if at == op {
						return errCrash
					}
					return nil
				}
				if done {
					r.queue.after = crash
				} else {
					r.queue.before = crash
				}
				first := r.scheduler()
				if _, err := first.Once(t.Context()); !errors.Is(err, errCrash) {
					t.Fatalf("%s: %v", op, err)
				}
				r.queue.before, r.queue.after = nil, nil
				slot := once(t, r.scheduler())
				if got := r.work(t, 1); !slices.Contains(got, slot.Run.Slot) || len(got) > 2 {
					t.Errorf("after a crash at %s (done: %v), %v has masters %v", op, done, slot, got)
				}
				if len(r.rows) != 1 || r.rows[0].Enqueued == 0 {
					t.Errorf("after a crash at %s (done: %v), the rows are %+v", op, done, r.rows)
				}
			})
		}
	}
}

func TestASchedulerThatFailedTriesItsOwnSlotAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		down := time.Now().Add(20 * time.Second)
		r.queue.before = func(op string) error {
			if op == "put" && time.Now().Before(down) {
				return tables.ErrBusy
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.scheduler().Run(ctx) })
		time.Sleep(27 * time.Second)
		cancel()
		running.Wait()
		if got := r.work(t, 1); len(got) != 1 {
			t.Errorf("%d masters", len(got))
		}
	})
}

func TestALateSlotIsFoundInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		dead := tables.Run{Pipeline: "live", Slot: slotAt(time.Now(), time.Minute), By: "another"}
		if err := r.Insert(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		var told []SlotOutcome
		s := r.scheduler()
		s.OnSlot = func(slot Slot) { told = append(told, slot.Outcome) }
		once(t, s)
		got := r.work(t, 1)
		slices.Sort(got)
		if want := []tables.Ticks{dead.Slot, dead.Slot.Add(time.Minute)}; !slices.Equal(got, want) {
			t.Errorf("masters %v, want %v", got, want)
		}
		if !slices.Equal(told, []SlotOutcome{SlotRepaired, SlotEnqueued}) {
			t.Errorf("told %v", told)
		}
		time.Sleep(2 * time.Minute)
		once(t, s)
		if got := r.work(t, 1); len(got) != 1 {
			t.Errorf("a marked run was put again: %v", got)
		}
	})
}

func TestAQueueThatIsDownLeavesOneSlotBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		up := time.Now().Add(20 * time.Minute)
		r.queue.before = func(op string) error {
			if op == "put" && time.Now().Before(up) {
				return tables.ErrBusy
			}
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.scheduler().Run(ctx) })
		time.Sleep(20*time.Minute + 10*time.Second)
		cancel()
		running.Wait()
		if got := r.work(t, 1); len(got) < 1 || len(got) > 2 || len(r.rows) != len(got) {
			t.Errorf("%d masters in %d rows after twenty minutes without a queue", len(got), len(r.rows))
		}
	})
}

func TestMissedSlotsAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		once(t, r.scheduler())
		r.work(t, 100)
		time.Sleep(3 * time.Hour)
		slot := once(t, r.scheduler())
		got := r.work(t, 100)
		if len(got) != 1 || got[0] != slotAt(time.Now(), time.Minute) || slot.Outcome != SlotEnqueued {
			t.Errorf("masters %v after three hours, %v", got, slot)
		}
		if again := once(t, r.scheduler()); again.Outcome != SlotTaken || again.Run.Slot != slot.Run.Slot || len(r.work(t, 100)) != 0 {
			t.Errorf("the same slot again: %v", again)
		}
	})
}

func TestBacklogsSkipSlots(t *testing.T) {
	for _, c := range []struct {
		b    backlog
		skip bool
	}{
		{backlog{depth: 0, batches: 200}, false},
		{backlog{depth: 20, batches: 200}, false},
		{backlog{depth: 21, batches: 200}, true},
		{backlog{depth: 21, batches: 200, skipped: 2}, true},
		{backlog{depth: 21, batches: 200, skipped: 3}, false},
		{backlog{depth: 399, batches: 200, skipped: 3}, false},
		{backlog{depth: 400, batches: 200, skipped: 3}, true},
		{backlog{depth: 400, batches: 200, skipped: 300}, true},
		// Two devices that catch up, or a batch that fails, in a fleet of one batch.
		{backlog{depth: 2, batches: 1}, false},
		{backlog{depth: 11, batches: 1}, true},
		{backlog{depth: 20, batches: 1, skipped: 9}, true},
		// A master that waits is a run's worth, however large the fleet.
		{backlog{depth: 1, waiting: 1, batches: 20000}, true},
		{backlog{depth: 1, waiting: 1, batches: 20000, skipped: 3}, false},
		{backlog{depth: 2, waiting: 2, batches: 20000, skipped: 99}, true},
		// Audits that are yet to come are no backlog.
		{backlog{depth: 220, delayed: 200, batches: 200}, false},
		{backlog{depth: 221, delayed: 200, batches: 200}, true},
		// The queue was cleared.
		{backlog{depth: 0, waiting: 2, batches: 20000}, false},
	} {
		if got := c.b.skip(); (got != "") != c.skip {
			t.Errorf("%+v: %q", c.b, got)
		}
	}
}

func TestAuditsThatAreYetToComeAreNoBacklog(t *testing.T) {
	at := tables.TicksOf(time.Now())
	r := tables.Run{Started: at, Audits: 200, AuditsUntil: at.Add(10 * time.Minute)}
	for after, want := range map[time.Duration]int{-time.Second: 200, 0: 200, 3 * time.Minute: 140, 9 * time.Minute: 20, 10 * time.Minute: 0, time.Hour: 0} {
		if got := backlogOf(250, []tables.Run{{}, r, {}}, at.Add(after)); got.delayed != want {
			t.Errorf("after %v %d audits are yet to come, want %d", after, got.delayed, want)
		}
	}
	if got := delayed(tables.Run{Started: at}, at); got != 0 {
		t.Errorf("a run without audits has %d", got)
	}
}

func TestThreeSlotsAreSkippedInARowAndTheNextRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		once(t, r.scheduler())
		r.work(t, 200)
		for n := range 40 { // the run's batches, with nobody to work them off
			r.queue.Put(t.Context(), deviceJob(n), 0)
		}
		var got []SlotOutcome
		for range 5 {
			time.Sleep(time.Minute)
			slot := once(t, r.scheduler())
			got = append(got, slot.Outcome)
			if row := r.find(slot.Run.Slot); (slot.Outcome == SlotSkipped) != (row.Skipped != "") || row.Skipped != "" && row.Enqueued != 0 {
				t.Errorf("%v has the row %+v", slot, row)
			}
			if slot.Outcome == SlotEnqueued {
				r.find(slot.Run.Slot).Started = 1
			}
		}
		if want := []SlotOutcome{SlotSkipped, SlotSkipped, SlotSkipped, SlotEnqueued, SlotSkipped}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestMastersDoNotPileUpWhileNobodyWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		once(t, r.scheduler())
		r.work(t, 20000)
		for range 24 * 60 {
			time.Sleep(time.Minute)
			once(t, r.scheduler())
		}
		if got := r.work(t, 20000); len(got) == 0 || len(got) > 2*(1+24*60/farBack) {
			t.Errorf("%d masters wait after a day", len(got))
		}
	})
}

func TestWhatASchedulerNeedsIsSaid(t *testing.T) {
	for _, s := range []*Scheduler{{}, {Pipeline: "live"}, {Pipeline: "live", Cadence: time.Minute}, {Pipeline: "Live", Cadence: time.Minute, Runs: newRuns(), Queue: &fakeQueue{}}} {
		if err := s.Run(t.Context()); err == nil {
			t.Errorf("%+v runs", s)
		}
		if _, err := s.Once(t.Context()); err == nil {
			t.Errorf("%+v runs once", s)
		}
	}
	if err := (&Pool{}).Run(t.Context()); err == nil {
		t.Error("a pool without a source runs")
	}
}
