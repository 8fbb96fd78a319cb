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

// maxDeaths is how many workers may end amid the job of a message until it is
// poison. Attempts are counted by those who see a job fail; nobody does when the
// job ends its worker's process. Batches are split long before that.
func (p *Pool) maxDeaths() int { return 20 * p.MaxAttempts }

// finish does with the message what the end of its job asks for. What it cannot
// do is left to the end of the lease, when the message comes again.
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
		// Another worker may have it at once, and this get counts for nothing.
		pause := doubled(t.pool.Pause/10, 2*t.pool.Pause, t.lease.Taken-1)
		return t.ended(OutcomeReleased, err, t.giveBack(ctx, t.message, jitter(pause)))
	case errors.Is(err, tables.ErrBusy):
		// An attempt, so that pauses grow and a batch is split, in which one device may
		// have a busy partition. But never poison: a storage that is busy as a whole
		// would put every message aside.
		t.pool.heed(err)
		return t.fail(ctx, err, attempts, busy+1)
	case attempts-busy >= t.pool.MaxAttempts:
		return t.poison(ctx, err, attempts)
	}
	return t.fail(ctx, err, attempts, busy)
}

// fail gives the message back with one more attempt counted.
func (t *delivery) fail(ctx context.Context, err error, attempts, busy int) Result {
	m := t.message
	m.Attempts, m.Busy = attempts, busy
	r := t.ended(OutcomeFailed, err, t.giveBack(ctx, m, t.pool.pauseAfter(attempts)))
	if r.Outcome == OutcomeFailed {
		t.message = m
	}
	return r
}

// giveBack ends the lease in order: this get of the message is no death.
func (t *delivery) giveBack(ctx context.Context, m jobs.Message, after time.Duration) error {
	m.Taken = t.lease.Taken - m.Deaths
	text, err := m.Encode()
	if err != nil { // it is in a newer format, or unreadable and stays so
		if text, err = jobs.SetTaken(t.lease.Text(), m.Taken); err != nil {
			text = t.lease.Text()
		}
	}
	return t.lease.GiveBack(ctx, text, after)
}

// poison puts the message into the poison queue first and deletes it then: a
// crash in between doubles the entry, and never loses it.
func (t *delivery) poison(ctx context.Context, cause error, attempts int) Result {
	err := t.pool.Source.Poison(ctx, Poisoned{Text: t.lease.Text(), Cause: cause.Error(), At: time.Now(),
		Attempts: attempts, Worker: t.pool.Name})
	if err != nil {
		t.pool.heed(err)
		err = fmt.Errorf("the message is poison (%w), and could not be put aside: %w", cause, err)
		return t.ended(OutcomeFailed, err, t.giveBack(ctx, t.message, t.pool.pauseAfter(attempts)))
	}
	return t.ended(OutcomePoisoned, cause, t.lease.Delete(ctx))
}

// ended is the result of a turn whose lease was ended with this error: a lease
// that turned out to be lost is what became of the message. Where storage did
// not answer, the message comes again: that is worth a word, and changes nothing.
func (t *delivery) ended(o Outcome, err, ending error) Result {
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
