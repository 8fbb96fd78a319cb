package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// fakeRuns is the table runs, with the hooks of the queue.
type fakeRuns struct {
	queue    *fakeQueue
	mu       sync.Mutex
	rows     []schema.Run
	versions int

	figures map[tables.Ticks]RunFigures
}

func (r *fakeRuns) Figures(_ context.Context, _ schema.Pipeline, slot tables.Ticks) (f RunFigures, err error) {
	err = r.do("figures", func() error {
		f = r.figures[slot]
		return nil
	})
	return f, err
}

// plan records that a run is planned, and how many of its batches are done.
func (r *fakeRuns) plan(slot tables.Ticks, batches, done int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.find(slot).Started = slot
	r.figures = map[tables.Ticks]RunFigures{slot: {
		Planned: 1, Months: schema.MonthFigures{Batches: batches},
		Workers: schema.WorkerFigures{Months: 1, Batches: done, Jobs: map[string]int64{"master done": 1}},
	}}
}

func (r *fakeRuns) do(op string, f func() error) error {
	return r.queue.do(op, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f()
	})
}

func (r *fakeRuns) find(slot tables.Ticks) *schema.Run {
	i := slices.IndexFunc(r.rows, func(run schema.Run) bool { return run.Slot == slot })
	if i < 0 {
		return nil
	}
	return &r.rows[i]
}

func (r *fakeRuns) Take(_ context.Context, run schema.Run) error {
	return r.do("insert", func() error {
		found := r.find(run.Slot)
		switch {
		case found == nil && run.ETag == "":
			r.rows = append(r.rows, schema.Run{})
			found = &r.rows[len(r.rows)-1]
		case run.ETag == "":
			return tables.ErrExists
		case found == nil || found.ETag != run.ETag:
			return tables.ErrConflict
		}
		*found = run
		r.wrote(found)
		return nil
	})
}

// wrote gives a row a new version.
func (r *fakeRuns) wrote(row *schema.Run) {
	r.versions++
	row.Written, row.ETag = tables.TicksOf(time.Now()), tables.ETag(fmt.Sprint(r.versions))
}

func (r *fakeRuns) MarkEnqueued(_ context.Context, run schema.Run, at tables.Ticks) error {
	return r.do("mark", func() error {
		row := r.find(run.Slot)
		if row == nil {
			return tables.ErrNotFound
		}
		row.Enqueued = at
		r.wrote(row)
		return nil
	})
}

func (r *fakeRuns) Since(_ context.Context, _ schema.Pipeline,
	slot tables.Ticks) (runs []schema.Run, now time.Time, err error) {
	err = r.do("since", func() error {
		for _, run := range r.rows {
			if run.Slot >= slot {
				runs = append(runs, run)
			}
		}
		slices.SortFunc(runs, func(a, b schema.Run) int { return cmp.Compare(a.Slot, b.Slot) })
		return nil
	})
	return runs, time.Now().Truncate(time.Second), err
}

// work receives all messages as workers would, and returns the slots of the master jobs.
func (r *fakeRuns) work(t *testing.T) (slots []tables.Ticks) {
	t.Helper()
	got := must.Have(r.queue.Get(t.Context(), 1000, time.Hour))(t)
	for _, l := range got {
		m, err := jobs.Decode(l.Text())
		if err != nil || m.Kind != jobs.Master {
			t.Fatalf("%+v, %v", m, err)
		}
		slots = append(slots, m.Run)
		row := r.find(m.Run)
		row.Started = tables.TicksOf(time.Now())
		r.wrote(row)
		must.Succeed(t, l.Delete(t.Context()))
	}
	return slots
}

func newRuns() *fakeRuns { return &fakeRuns{queue: &fakeQueue{}} }

func (r *fakeRuns) scheduler() *Scheduler {
	return &Scheduler{Pipeline: "live", Cadence: time.Minute, Runs: r, Queue: r.queue, Log: quiet()}
}

func once(t *testing.T, s *Scheduler) Slot {
	t.Helper()
	slot := must.Have(s.Once(t.Context()))(t)
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
		at := must.Have(time.Parse(time.RFC3339Nano, c.at))(t)
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
			slots = append(slots, r.work(t)...)
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
				if got := r.work(t); !slices.Contains(got, slot.Run.Slot) || len(got) > 2 {
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
		r.queue.before = failing("put", tables.ErrBusy, func() bool { return time.Now().Before(down) })
		runFor(t, r.scheduler(), 27*time.Second)
		if got := r.work(t); len(got) != 1 {
			t.Errorf("%d masters", len(got))
		}
	})
}

func TestALateSlotIsFoundInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		dead := schema.Run{Pipeline: "live", Slot: slotAt(time.Now(), time.Minute), By: "another"}
		must.Succeed(t, r.Take(t.Context(), dead))
		time.Sleep(time.Minute)
		var told bytes.Buffer
		s := r.scheduler()
		s.Log = slog.New(slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug}))
		once(t, s)
		got := r.work(t)
		slices.Sort(got)
		if want := []tables.Ticks{dead.Slot, dead.Slot.Add(time.Minute)}; !slices.Equal(got, want) {
			t.Errorf("masters %v, want %v", got, want)
		}
		if log := told.String(); strings.Count(log, "outcome=") != 2 ||
			strings.Index(log, `outcome="enqueued again"`) > strings.Index(log, "outcome=enqueued\n") ||
			!strings.Contains(log, `outcome="enqueued again"`) {
			t.Errorf("it logs %s", log)
		}
		time.Sleep(2 * time.Minute)
		once(t, s)
		if got := r.work(t); len(got) != 1 {
			t.Errorf("a marked run was put again: %v", got)
		}
	})
}

func TestAQueueThatIsDownLeavesOneSlotBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		up := time.Now().Add(20 * time.Minute)
		r.queue.before = failing("put", tables.ErrBusy, func() bool { return time.Now().Before(up) })
		runFor(t, r.scheduler(), 20*time.Minute+10*time.Second)
		if got := r.work(t); len(got) < 1 || len(got) > 2 || len(r.rows) != len(got) {
			t.Errorf("%d masters in %d rows after twenty minutes without a queue", len(got), len(r.rows))
		}
	})
}

func TestMissedSlotsAreNotCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		once(t, r.scheduler())
		r.work(t)
		time.Sleep(3 * time.Hour)
		slot := once(t, r.scheduler())
		got := r.work(t)
		if len(got) != 1 || got[0] != slotAt(time.Now(), time.Minute) || slot.Outcome != SlotEnqueued {
			t.Errorf("masters %v after three hours, %v", got, slot)
		}
		if again := once(t, r.scheduler()); again.Outcome != SlotTaken || again.Run.Slot != slot.Run.Slot ||
			len(r.work(t)) != 0 {
			t.Errorf("the same slot again: %v", again)
		}
	})
}

func TestOnlyWhatTheLastRunPlannedSkipsASlot(t *testing.T) {
	slot := tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	planned := func(batches, parts, done int64) RunFigures {
		return RunFigures{Planned: 1, Months: schema.MonthFigures{Batches: batches},
			Workers: schema.WorkerFigures{Months: 1, Parts: parts, Batches: done, Jobs: map[string]int64{"master done": 1}}}
	}
	unplanned := planned(2, 0, 2)
	unplanned.Workers.Months = 2
	last := func(ago time.Duration) []schema.Run {
		return []schema.Run{{Slot: slot.Add(-ago), Enqueued: 1, Started: 1}}
	}
	waits := schema.Run{Slot: slot.Add(-time.Minute), Enqueued: 1}
	skipped := schema.Run{Slot: slot.Add(-time.Second), Skipped: "it was"}
	unmarked := schema.Run{Slot: slot.Add(-time.Second)}
	for name, c := range map[string]struct {
		depth   int
		recent  []schema.Run
		figures RunFigures
		skip    bool
	}{
		"nothing is known":                 {5, nil, RunFigures{}, false},
		"a batch is under way":             {1, last(time.Minute), planned(200, 0, 199), true},
		"one in a fleet of one batch":      {1, last(time.Minute), planned(1, 0, 0), true},
		"a part of a batch is under way":   {1, last(time.Minute), planned(1, 1, 1), true},
		"a slot was skipped since":         {1, append(last(time.Minute), skipped), planned(1, 0, 0), true},
		"another scheduler has died since": {1, append(last(time.Minute), unmarked), planned(1, 0, 0), true},
		"all are done":                     {400, last(time.Minute), planned(200, 3, 203), false},
		"a batch was done twice":           {400, last(time.Minute), planned(200, 0, 201), false},
		"a month is not planned":           {1, last(time.Minute), unplanned, true},
		"the master has begun":             {1, last(time.Minute), RunFigures{}, true},
		"the queue is empty":               {0, last(time.Minute), planned(200, 0, 0), false},
		"nine minutes":                     {1, last(9 * time.Minute), planned(200, 0, 0), true},
		"ten minutes":                      {1, last(10 * time.Minute), planned(200, 0, 0), false},
		"a master waits":                   {1, []schema.Run{waits}, RunFigures{}, true},
		"two masters wait, for ten minutes": {2,
			[]schema.Run{{Slot: slot.Add(-time.Hour), Enqueued: 1}, {Slot: slot.Add(-10 * time.Minute), Enqueued: 1}},
			RunFigures{}, true},
		"two masters wait in an emptied queue": {0, []schema.Run{waits, waits}, RunFigures{}, false},
	} {
		b := backlogOf(c.depth, c.recent, slot, time.Minute)
		if b.undecided() {
			b.figures = c.figures
		}
		if got := b.skip(); (got != "") != c.skip {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAnEndlessRunHoldsSlotsForTenMinutesOrTenCadences(t *testing.T) {
	for cadence, want := range map[time.Duration]time.Duration{time.Second: 10 * time.Minute,
		time.Minute: 10 * time.Minute, 5 * time.Minute: 50 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuns()
			s := r.scheduler()
			s.Cadence = cadence
			first := once(t, s)
			r.work(t)
			r.plan(first.Run.Slot, 200, 199)
			r.queue.Put(t.Context(), deviceJob(1), 0)
			for held := time.Duration(0); ; {
				time.Sleep(cadence)
				held += cadence
				slot := once(t, s)
				if row := r.find(slot.Run.Slot); (slot.Outcome == SlotSkipped) != (row.Skipped != "") || row.Skipped != "" &&
					row.Enqueued != 0 {
					t.Fatalf("%v has the row %+v", slot, row)
				}
				if slot.Outcome == SlotSkipped && held < want {
					continue
				}
				if slot.Outcome != SlotEnqueued || held != want {
					t.Errorf("every %v: after %v a slot is %v; want the first to run after %v", cadence, held, slot.Outcome, want)
				}
				break
			}
		})
	}
}

func TestCatchUpAuditsAndRetriesNeverSkipASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		s := r.scheduler()
		s.Cadence = time.Second
		chain, retry := deviceJob(1), deviceJob(2)
		chain.Mark, retry.Extra = "a mark", true
		for n := range 1000 {
			chain.First = deviceJob(n % 999).First
			chain.Last = chain.First
			r.queue.Put(t.Context(), chain, 0)
			r.queue.Put(t.Context(), auditJob(n%999), time.Hour)
			r.queue.Put(t.Context(), retry, time.Hour)
		}
		for n := range int64(120) {
			slot := once(t, s)
			if slot.Outcome != SlotEnqueued {
				t.Fatalf("slot %d is %v: %s", n, slot.Outcome, slot.Run.Skipped)
			}
			r.work(t)
			r.plan(slot.Run.Slot, n, n)
			time.Sleep(time.Second)
		}
	})
}

func TestMastersDoNotPileUpWhileNobodyWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		once(t, r.scheduler())
		r.work(t)
		for range 24 * 60 {
			time.Sleep(time.Minute)
			once(t, r.scheduler())
		}
		if got := r.work(t); len(got) == 0 || len(got) > 2*(1+24*60/farBack) {
			t.Errorf("%d masters wait after a day", len(got))
		}
	})
}

func TestASchedulerRefusesMissingSettings(t *testing.T) {
	for _, s := range []*Scheduler{{}, {Pipeline: "live"}, {Pipeline: "live", Cadence: time.Minute},
		{Pipeline: "Live", Cadence: time.Minute, Runs: newRuns(), Queue: &fakeQueue{}}} {
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
