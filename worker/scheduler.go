package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/google/uuid"
)

// A RunLog stores a scheduler's runs, such as Runs.
type RunLog interface {
	Take(ctx context.Context, run schema.Run) error
	MarkEnqueued(ctx context.Context, run schema.Run, at tables.Ticks) error
	Since(ctx context.Context, p schema.Pipeline, slot tables.Ticks) (runs []schema.Run, now time.Time, err error)
	Figures(ctx context.Context, p schema.Pipeline, slot tables.Ticks) (RunFigures, error)
}

// A MasterQueue takes master jobs, such as a Queue.
type MasterQueue interface {
	Put(ctx context.Context, m jobs.Message, delay time.Duration) error
	Depth(ctx context.Context) (int, error)
}

// A Scheduler puts the master job of each slot of a pipeline. Several may run side by side without knowing each other:
// whoever first inserts a slot's row owns it. Do not run one Scheduler twice at the same time.
//
// Slots that passed while no scheduler ran are not caught up one by one. A run reads everything after the checkpoints,
// so the newest slot does the work of all before it.
//
// A slot is skipped while batches of the last run are under way, according to that run's figures, for at most ten
// minutes or ten cadences. Catch-up work, audits and delayed retries do not count, because they may take hours. While
// the master jobs of two runs wait in the queue, every slot is skipped.
//
// A scheduler whose clock was ahead has taken slots that are still to come. While there are such, they hold back
// nothing, and each slot whose time has come is taken again, once.
type Scheduler struct {
	Pipeline schema.Pipeline
	Cadence  time.Duration
	// Generation is the configuration's. Master jobs carry it.
	Generation int64
	Runs       RunLog
	Queue      MasterQueue
	Early      *Early        // if not nil, asks for runs between slots, Settle after rows have arrived
	Settle     time.Duration // of the pipeline
	// OnSlot, if not nil, is called after each slot that this scheduler put, put again or skipped.
	OnSlot func(context.Context, Slot)
	Log    *slog.Logger // nil means slog.Default()
	// Now is the clock of the machine, which may be set; nil means time.Now.
	Now func() time.Time

	last string // By of the run that this scheduler tried to insert last
}

// A Slot is what a scheduler did in one.
type Slot struct {
	Run     schema.Run
	Outcome SlotOutcome
}

// A SlotOutcome is how a slot ended.
type SlotOutcome uint8

const (
	SlotEnqueued SlotOutcome = iota + 1 // its master job is in the queue
	SlotRepaired                        // its master job was put again, because nobody had recorded it
	SlotSkipped                         // the last run is not done; the row says what is missing
	SlotTaken                           // another scheduler owns it, or it was done before
)

func (o SlotOutcome) String() string {
	return [...]string{"none", "enqueued", "enqueued again", "skipped", "taken"}[o]
}

const (
	lookBack = 20               // slots that a look at the runs covers
	farBack  = 30 * lookBack    // slots that it covers if none of those has begun
	settled  = 30 * time.Second // after which another scheduler's unmarked row counts as abandoned
	retry    = 5 * time.Second  // after an error
	glance   = 2 * time.Second  // between two looks at a row that may be marked any moment
	ahead    = 10 * time.Minute // a slot further in the future shows that a clock was ahead
)

// Run does what is due at every slot until ctx ends, and returns nil. It logs errors of storage, and tries the slot
// again while it lasts.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	bell, stop := s.Early.listen()
	defer stop()
	for ctx.Err() == nil {
		_, wait, err := s.step(ctx, slotAt(s.now(), s.Cadence))
		if err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "slot could not be scheduled", "pipeline", s.Pipeline, "error", err)
			wait = jitter(retry)
		}
		now := s.now()
		next := slotAt(now, s.Cadence).Add(s.Cadence).Time()
		s.rest(ctx, bell, s.in(min(cmp.Or(wait, s.Cadence), next.Sub(now))))
	}
	return nil
}

// Once does what is due now, for cron and similar tools, and returns the outcome. If another scheduler owns the slot
// and has not recorded its master job, Once waits until it does, or does so itself half a minute later.
func (s *Scheduler) Once(ctx context.Context) (Slot, error) {
	if err := s.check(); err != nil {
		return Slot{}, err
	}
	for {
		slot, wait, err := s.step(ctx, slotAt(s.now(), s.Cadence))
		if err != nil || wait == 0 {
			return slot, err
		}
		sleep(ctx, min(wait, glance))
		if ctx.Err() != nil {
			return slot, context.Cause(ctx)
		}
	}
}

func (s *Scheduler) check() error {
	if _, err := schema.ParsePipeline(string(s.Pipeline)); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	if s.Cadence < time.Second || s.Runs == nil || s.Queue == nil {
		return fmt.Errorf("scheduler of pipeline %s: Runs, Queue and a Cadence of a second or more are needed", s.Pipeline)
	}
	return nil
}

func (s *Scheduler) log() *slog.Logger { return cmp.Or(s.Log, slog.Default()) }

// step does what is due at a slot. It reads one range of rows, repeats master jobs that may not be in
// the queue, and then the slot's own. A wait that is not zero says when there may be more to repair.
func (s *Scheduler) step(ctx context.Context, at tables.Ticks) (slot Slot, wait time.Duration, err error) {
	recent, jumped, storage, err := s.recent(ctx, at)
	if err != nil {
		return Slot{}, 0, err
	}
	slot = Slot{Run: schema.Run{Pipeline: s.Pipeline, Slot: at}}
	if i := slices.IndexFunc(recent, func(r schema.Run) bool { return r.Slot == at }); jumped && i >= 0 {
		if r := recent[i]; !r.Retaken && r.By != s.last {
			slot.Run.Retaken, slot.Run.ETag = true, r.ETag
			recent = slices.Delete(recent, i, i+1)
		}
	}
	for _, r := range recent {
		if r.Slot == at {
			slot = Slot{r, SlotTaken}
		}
		if !r.Unmarked() {
			continue
		}
		left := settled - storage.Sub(r.Written.Time())
		if left > 0 && (s.last == "" || r.By != s.last) {
			wait = max(wait, left)
			continue
		}
		// This comes before the new slot, so at most one row stays unmarked while the queue takes no messages.
		if err := s.enqueue(ctx, r); err != nil {
			return slot, 0, err
		}
		s.reportSlot(ctx, Slot{r, SlotRepaired})
		if r.Slot == at {
			slot.Outcome = SlotRepaired
		}
	}
	if slot.Outcome != 0 {
		return slot, wait, nil
	}
	slot, err = s.ownSlot(ctx, slot.Run, recent)
	if slot.Outcome == SlotTaken {
		wait = settled
	}
	return slot, wait, err
}

// recent reads the runs before a slot and its own, and reports whether there are slots that are far from having come.
// If no run has begun for long, it looks further back, because overlooking waiting runs would add more of them.
func (s *Scheduler) recent(ctx context.Context, at tables.Ticks) (runs []schema.Run, jumped bool, now time.Time,
	err error) {
	for _, slots := range []time.Duration{lookBack, farBack} {
		runs, now, err = s.Runs.Since(ctx, s.Pipeline, at.Add(-slots*s.Cadence))
		all := len(runs)
		runs = slices.DeleteFunc(runs, func(r schema.Run) bool { return r.Slot > at.Add(ahead) })
		jumped = len(runs) < all
		if err != nil || len(runs) < lookBack || slices.ContainsFunc(runs,
			func(r schema.Run) bool { return r.Started != 0 }) {
			break
		}
	}
	return runs, jumped, now, err
}

// ownSlot tries to own the slot of run, and then skips it or puts its master job.
func (s *Scheduler) ownSlot(ctx context.Context, run schema.Run, recent []schema.Run) (Slot, error) {
	var err error
	if run.Skipped, err = s.skip(ctx, run.Slot, recent); err != nil {
		return Slot{Run: run}, err
	}
	run.By = uuid.NewString()
	s.last = run.By
	mine, err := s.own(ctx, run)
	switch {
	case err != nil:
		return Slot{Run: run}, err
	case !mine:
		return Slot{run, SlotTaken}, nil
	case run.Skipped != "":
		s.reportSlot(ctx, Slot{run, SlotSkipped})
		return Slot{run, SlotSkipped}, nil
	}
	if err := s.enqueue(ctx, run); err != nil {
		return Slot{Run: run}, err
	}
	s.reportSlot(ctx, Slot{run, SlotEnqueued})
	return Slot{run, SlotEnqueued}, nil
}

// own writes the slot's row, and reports whether run is then the slot's. A row that is there, or that has changed, may
// be the result of our own write whose answer was lost.
func (s *Scheduler) own(ctx context.Context, run schema.Run) (mine bool, err error) {
	err = s.Runs.Take(ctx, run)
	if !errors.Is(err, tables.ErrExists) && !errors.Is(err, tables.ErrConflict) {
		return err == nil, err
	}
	stand, _, err := s.Runs.Since(ctx, s.Pipeline, run.Slot)
	for _, r := range stand {
		if r.Slot == run.Slot {
			return r.By == run.By, nil
		}
	}
	return false, err
}

// enqueue puts the master job of run before it marks the row. A crash in between puts it twice, which does no harm, and
// never skips it.
func (s *Scheduler) enqueue(ctx context.Context, run schema.Run) error {
	m := jobs.Message{Kind: jobs.Master, Pipeline: run.Pipeline, Run: run.Slot, Generation: s.Generation}
	if err := s.Queue.Put(ctx, m, 0); err != nil {
		return err
	}
	return s.Runs.MarkEnqueued(ctx, run, tables.TicksOf(time.Now()))
}

func (s *Scheduler) reportSlot(ctx context.Context, slot Slot) {
	level, args := slog.LevelDebug, []any{"pipeline", s.Pipeline, "slot", slot.Run.Slot.Time(), "outcome",
		slot.Outcome.String()}
	if slot.Outcome == SlotSkipped {
		level, args = slog.LevelWarn, append(args, "reason", slot.Run.Skipped)
	}
	s.log().Log(ctx, level, "slot scheduled", args...)
	if s.OnSlot != nil {
		s.OnSlot(ctx, slot)
	}
}
