package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/refold"
	"furrow/tables/schema"
)

// aloneAfter is how long a device that failed within its batch waits before it is tried alone.
const aloneAfter = 5 * time.Second

// lostAfter is how long devices wait that somebody else has claimed during their job. That may have been a job that
// folds nothing, such as an audit, and then their rows would wait for the next run.
const lostAfter = time.Second

// suspicious is how often a batch fails as a whole before its devices are tried one by one, and how often a single
// device fails before the failure counts as its own.
const suspicious = 2

// batch returns the devices of a message.
func (m Message) batch() Batch {
	return Batch{First: m.First, Last: m.Last, Only: m.Only, Resting: m.Resting, Mark: m.Mark, Claim: m.Claim}
}

// device does a device job, and puts the messages that follow: a device far behind continues in a job of its own, and
// so does the part of the batch that was too much for one job. A device that failed for the first time is tried again
// alone.
func (j job) device(ctx context.Context) (Result, error) {
	b := j.m.batch()
	b.Slot, b.Tried = j.m.Run, j.m.tried()
	if j.m.Attempts >= suspicious && !b.alone() {
		return Result{}, j.split(ctx)
	}
	r, err := j.Run(ctx, b)
	switch {
	case err != nil && ctx.Err() == nil && j.m.Attempts >= suspicious:
		return j.blame(ctx, b, err)
	case err != nil:
		return r, err
	}
	for _, f := range j.following(r) {
		if err := j.Put(ctx, f.Message, f.delay); err != nil {
			return r, err
		}
	}
	return r, j.catchup().giveTurns(ctx, r)
}

// following returns the messages that follow from a device job.
func (j job) following(r Result) (all []follower) {
	j.m = j.m.Untried()
	j.m.Claim = ""
	of := func(first, last schema.Place, mark string) Message {
		next := j.m.from(first, last)
		next.Mark = mark
		return next
	}
	if r.Rest != (schema.Place{}) {
		all = append(all, follower{of(r.Rest, j.m.Last, j.m.Mark), 0})
	}
	if n := len(r.Lost); n > 0 && j.m.Mark == "" {
		all = append(all, follower{of(r.Lost[0], r.Lost[n-1], ""), lostAfter})
	}
	if j.m.Mark != "" { // others wait for their turns
		for _, d := range r.Behind {
			all = append(all, follower{of(d, d, r.Mark), 0})
		}
		for _, d := range r.Lost {
			all = append(all, follower{of(d, d, j.m.Mark), 0})
		}
	}
	alone := slices.Clone(r.Failing)
	for d, err := range r.Failed {
		if _, first := err.(*commit.FirstFailure); first {
			alone = append(alone, d)
		}
	}
	for _, d := range alone {
		all = append(all, follower{of(d, d, j.m.Mark), aloneAfter})
	}
	all = append(all, followUps(j.m, r.Claimed, r.now)...)
	refold := func(first, last schema.Place, mark string) Message {
		next := of(first, last, mark)
		next.Kind, next.Audit, next.Extra, next.Only, next.Resting = Audit, refold.Refold, false, nil, 0
		return next
	}
	for _, o := range r.Orphaned {
		next := of
		if o.Refold {
			next = refold
		}
		all = append(all, follower{next(o.Place, o.Place, o.Mark), 0})
	}
	tell := j.m.next(Deliver)
	for _, tell.Target = range r.woken {
		all = append(all, follower{tell, j.notifier().Wait(tell.Target)})
	}
	if n := len(r.Reset); n > 0 {
		all = append(all, follower{refold(r.Reset[0], r.Reset[n-1], r.Mark), 0})
	}
	return all
}

// split puts a job for each device of a batch.
func (j job) split(ctx context.Context) error {
	read, err := j.read(ctx, j.m.batch())
	if err != nil {
		return err
	}
	j.m = j.m.Untried()
	for _, d := range read.work {
		if err := j.Put(ctx, j.m.from(d.Member.Place(), d.Member.Place()), 0); err != nil {
			return err
		}
	}
	return nil
}

// blame counts the failure of a job on its one device, which is then held.
func (j job) blame(ctx context.Context, b Batch, why error) (Result, error) {
	read, err := j.read(ctx, b)
	if err != nil {
		return Result{}, errors.Join(why, err)
	}
	failure := &commit.Attempt{Writer: j.writer(), Now: read.now, Work: folding.Changes(read.work)}
	for _, d := range read.work {
		d.Err = why
		d.Row.Was.Attempts = max(d.Row.Was.Attempts, 1) // it has been alone already
	}
	if err := failure.Fail(ctx); err != nil {
		return Result{}, errors.Join(why, err)
	}
	return read.result(read.work, nil, ""), nil
}

// deadly is how many workers may crash during the job of a batch. A device may need all memory, or cause a panic where
// nothing recovers, and then nobody counts an attempt.
const deadly = 3

// isDeadly reports whether a job must not be tried again as it is.
func (m Message) isDeadly() bool {
	return m.Deaths > deadly && (m.Kind == Device || m.Kind == Audit)
}

// disarm splits a batch that crashed its workers, and holds a device that was alone with it. It reads no readings.
func (j job) disarm(ctx context.Context) (Result, error) {
	b := j.m.batch()
	if b.alone() {
		return j.blame(ctx, b, fmt.Errorf("its job has crashed %d workers, perhaps for lack of memory: see their logs",
			j.m.Deaths))
	}
	return Result{}, j.split(ctx)
}
