package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

// maxDeaths is how many workers may crash during the job of a message before it becomes poison. A failed job counts as
// an attempt, but nobody counts when the job crashes the process. Batches are split long before this limit.
func (p *Pool) maxDeaths() int { return 20 * p.MaxAttempts }

// finish ends the message as the outcome of its job demands. If that fails, the message comes again when its lease
// ends.
func (t *delivery) finish(ctx context.Context, err error, stopped bool) Result {
	attempts, busy := t.message.Attempts+1, t.message.Busy
	switch {
	case err == nil:
		return t.ended(OutcomeDone, nil, t.lease.Delete(ctx))
	case errors.Is(err, ErrLeaseLost):
		return Result{Outcome: OutcomeLost, Err: err}
	case errors.Is(err, jobs.ErrUnreadable), errors.Is(err, errDeadly):
		return t.poison(ctx, err, t.message.Attempts)
	case stopped:
		return t.ended(OutcomeReleased, nil, t.giveBack(ctx, t.message, 0))
	case errors.Is(err, jobs.ErrNewer):
		// Another worker may take it at once, and this get does not count.
		pause := doubled(t.pool.Pause/10, 2*t.pool.Pause, t.lease.Taken-1)
		return t.ended(OutcomeReleased, err, t.giveBack(ctx, t.message, jitter(pause)))
	case errors.Is(err, tables.ErrBusy):
		// It counts as an attempt, so that pauses grow and a batch is split if one of its devices has a busy partition. But
		// it never makes the message poison, or a busy storage account would poison every message.
		t.pool.countBusy(err)
		return t.fail(ctx, err, attempts, busy+1)
	case attempts-busy >= t.pool.MaxAttempts:
		return t.poison(ctx, err, attempts)
	}
	return t.fail(ctx, err, attempts, busy)
}

// fail gives the message back and counts an attempt.
func (t *delivery) fail(ctx context.Context, err error, attempts, busy int) Result {
	m := t.message
	m.Attempts, m.Busy = attempts, busy
	r := t.ended(OutcomeFailed, err, t.giveBack(ctx, m, t.pool.pauseAfter(attempts)))
	if r.Outcome == OutcomeFailed {
		t.message = m
	}
	return r
}

// giveBack ends the lease in order, so that this get does not count as a death.
func (t *delivery) giveBack(ctx context.Context, m jobs.Message, after time.Duration) error {
	m.Taken = t.lease.Taken - m.Deaths
	text, err := m.Encode()
	if err != nil { // it is in a newer format, or unreadable
		if text, err = jobs.SetTaken(t.lease.Text(), m.Taken); err != nil {
			text = t.lease.Text()
		}
	}
	return t.lease.GiveBack(ctx, text, after)
}

// poison puts the message into the poison queue before it deletes it. A crash in between duplicates the entry, and
// never loses it.
func (t *delivery) poison(ctx context.Context, cause error, attempts int) Result {
	err := t.pool.Source.Poison(ctx, Poisoned{Text: t.lease.Text(), Cause: cause.Error(), At: time.Now(),
		Attempts: attempts, Worker: t.pool.Name})
	if err != nil {
		t.pool.countBusy(err)
		err = fmt.Errorf("the message is poison (%w) and could not be moved to the poison queue: %w", cause, err)
		return t.ended(OutcomeFailed, err, t.giveBack(ctx, t.message, t.pool.pauseAfter(attempts)))
	}
	return t.ended(OutcomePoisoned, cause, t.lease.Delete(ctx))
}

// ended is the result of a delivery whose lease was ended with this error. If the lease was lost, that is the outcome.
// If storage did not answer, the message comes again, which is worth a note and changes nothing else.
func (t *delivery) ended(o Outcome, err, ending error) Result {
	switch {
	case ending == nil:
		return Result{Outcome: o, Err: err}
	case errors.Is(ending, ErrLeaseLost):
		return Result{Outcome: OutcomeLost, Err: both(err, ending)}
	}
	t.pool.countBusy(ending)
	return Result{Outcome: o, Err: both(err, fmt.Errorf("the message comes again when its lease ends: %w", ending))}
}

// both joins two errors in one line. The first may be nil.
func both(err, other error) error {
	if err == nil {
		return other
	}
	return fmt.Errorf("%w; %w", err, other)
}

// pauseAfter returns the pause after so many attempts. It doubles with each attempt, up to 64 times the first, and has
// jitter.
func (p *Pool) pauseAfter(attempts int) time.Duration {
	return jitter(doubled(p.Pause, 64*p.Pause, attempts-1))
}

func (t *delivery) log(ctx context.Context, r Result) {
	level := slog.LevelDebug
	switch {
	case r.Outcome == OutcomePoisoned:
		level = slog.LevelError
	case r.Outcome == OutcomeFailed, r.Outcome != OutcomeLost && r.Err != nil:
		level = slog.LevelWarn
	case r.Outcome == OutcomeLost:
		level = slog.LevelInfo
	}
	args := []any{"outcome", r.Outcome.String(), "took", r.Took, "message", quoted(t.lease.Text())}
	if r.Err != nil {
		args = append(args, "error", r.Err)
	}
	t.pool.Log.Log(ctx, level, "message ended", args...)
}

// quoted shortens a text that may come from anybody.
func quoted(s string) string {
	const most = 512
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
