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

// maxTaken is how often a message may be got. Attempts are counted by those who
// see a job fail; nobody does when the job ends its worker's process.
func (p *Pool) maxTaken() int { return 20 * p.MaxAttempts }

// finish does with the message what the end of its job asks for. What it cannot
// do is left to the end of the lease, when the message comes again.
func (t *turn) finish(ctx context.Context, err error, stopped bool) Result {
	attempts := t.message.Attempts + 1
	switch {
	case err == nil:
		return t.ended(OutcomeDone, nil, t.lease.Delete(ctx))
	case errors.Is(err, ErrLeaseLost):
		return Result{Outcome: OutcomeLost, Err: err}
	case errors.Is(err, jobs.ErrUnreadable), errors.Is(err, errDeadly):
		return t.poison(ctx, err, t.message.Attempts)
	case stopped:
		return t.ended(OutcomeReleased, nil, t.lease.GiveBack(ctx, t.lease.Text(), 0))
	case errors.Is(err, jobs.ErrNewer):
		return t.pass(ctx, err)
	case errors.Is(err, tables.ErrBusy):
		// Storage fails every job alike. That is no fault of the message, and would
		// fill the poison queue with all of them.
		t.pool.heed(err)
		return t.ended(OutcomeFailed, err, t.lease.GiveBack(ctx, t.lease.Text(), t.pool.pauseAfter(t.lease.Taken)))
	case attempts >= t.pool.MaxAttempts:
		return t.poison(ctx, err, attempts)
	}
	return t.fail(ctx, err, attempts)
}

// pass gives back a message that this worker is too old for. Another one may have
// it soon, and no get by such as this one counts.
func (t *turn) pass(ctx context.Context, err error) Result {
	m := t.message
	m.Passed++
	text, wrong := m.Encode()
	if wrong != nil {
		return Result{Outcome: OutcomeReleased, Err: both(err, wrong)}
	}
	return t.ended(OutcomeReleased, err, t.lease.GiveBack(ctx, text, jitter(t.pool.Pause)))
}

// fail gives the message back with one more attempt counted.
func (t *turn) fail(ctx context.Context, err error, attempts int) Result {
	m := t.message
	m.Attempts = attempts
	text, wrong := m.Encode()
	if wrong != nil {
		return Result{Outcome: OutcomeFailed, Err: both(err, wrong)}
	}
	r := t.ended(OutcomeFailed, err, t.lease.GiveBack(ctx, text, t.pool.pauseAfter(attempts)))
	if r.Outcome == OutcomeFailed {
		t.message = m
	}
	return r
}

// poison puts the message into the poison queue first and deletes it then: a
// crash in between doubles the entry, and never loses it.
func (t *turn) poison(ctx context.Context, cause error, attempts int) Result {
	err := t.pool.Source.Poison(ctx, Poisoned{Text: t.lease.Text(), Cause: cause.Error(), At: time.Now(), Attempts: attempts, Worker: t.pool.Name})
	if err != nil {
		t.pool.heed(err)
		err = fmt.Errorf("the message is poison (%w), and could not be put aside: %w", cause, err)
		return t.ended(OutcomeFailed, err, t.lease.GiveBack(ctx, t.lease.Text(), t.pool.pauseAfter(attempts)))
	}
	return t.ended(OutcomePoisoned, cause, t.lease.Delete(ctx))
}

// ended is the result of a turn whose lease was ended with this error: a lease
// that turned out to be lost is what became of the message. Where storage did
// not answer, the message comes again: that is worth a word, and changes nothing.
func (t *turn) ended(o Outcome, err, ending error) Result {
	switch {
	case ending == nil:
		return Result{Outcome: o, Err: err}
	case errors.Is(ending, ErrLeaseLost):
		return Result{Outcome: OutcomeLost, Err: both(err, ending)}
	}
	t.pool.heed(ending)
	return Result{Outcome: o, Err: both(err, fmt.Errorf("the message comes again when its lease is over: %w", ending))}
}

// both is two errors in one line; the first may be nil.
func both(err, other error) error {
	if err == nil {
		return other
	}
	return fmt.Errorf("%w; %w", err, other)
}

// pauseAfter is the pause after so many attempts: it doubles with each, up to 64
// times the first, and has jitter.
func (p *Pool) pauseAfter(attempts int) time.Duration {
	return jitter(doubled(p.Pause, 64*p.Pause, attempts-1))
}

func (t *turn) log(ctx context.Context, r Result) {
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
	t.pool.Log.Log(ctx, level, "a message's turn is over", args...)
}

// quoted shortens a text that may be a stranger's.
func quoted(s string) string {
	const most = 512
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
