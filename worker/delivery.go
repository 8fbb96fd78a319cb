package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"furrow/jobs"
)

// A delivery is one message's time in a pool.
type delivery struct {
	pool  *Pool
	lease *Lease
	lost  context.CancelCauseFunc // ends the job's context

	mu      sync.Mutex
	message jobs.Message // as last saved
}

// Why a message is not tried.
var (
	errStopped = errors.New("the pool is stopping")
	errDeadly  = errors.New("the message seems to end its workers")
)

// take runs the job of a message and finishes the message.
func (p *Pool) take(ctx context.Context, l *Lease) Result {
	start := time.Now()
	l.heed = p.heed
	m, err := jobs.Decode(l.Text())
	m.Deaths = max(0, l.Taken-m.Taken-1)
	t := &delivery{pool: p, lease: l, message: m}
	if m.Deaths > 0 {
		p.Log.InfoContext(ctx, "message taken over", "deaths", m.Deaths, "message", quoted(l.Text()))
	}
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = errStopped
	case m.Deaths > p.maxDeaths():
		err = fmt.Errorf("%w: %d of them have ended amid its job", errDeadly, m.Deaths)
	default:
		err = t.work(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Grace)
	defer cancel()
	r := t.finish(last, err, ctx.Err() != nil)
	r.Message, r.Took = t.message, time.Since(start)
	t.log(ctx, r)
	return r
}

// work runs the job, with its lease renewed until it returns. No renewal
// follows: what finishes the message needs the newest receipt.
func (t *delivery) work(ctx context.Context) error {
	var run context.Context
	run, t.lost = context.WithCancelCause(ctx)
	returned := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { t.renew(ctx, returned) })
	err := t.call(run)
	close(returned)
	renewing.Wait()
	defer t.lost(nil)
	if cause := context.Cause(run); err != nil && errors.Is(cause, ErrLeaseLost) {
		return cause // which the job may have called its own
	}
	return err
}

// call calls Work, whose panic is a failure of this job and no other.
func (t *delivery) call(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the job panicked: %v", r)
			t.pool.Log.ErrorContext(ctx, "a job panicked", "message", t.lease.Text(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	return t.pool.Work(ctx, t.message, t.save)
}

// save gives the message the progress of its job. It does not heed the end of
// ctx once it has begun: an update that was cut off leaves a receipt that
// nobody knows, and so a message that cannot be given back.
func (t *delivery) save(ctx context.Context, m jobs.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	m.Attempts, m.Busy, m.Taken, m.Deaths = t.message.Attempts, t.message.Busy, t.message.Taken, t.message.Deaths
	if m != t.message {
		m = m.Untried()
		m.Taken = t.lease.Taken - 1 // all but this get, which has yet to end well
	}
	text, err := m.Encode()
	if err != nil {
		return err
	}
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.pool.Lease/3)
	defer cancel()
	if err := t.lease.Save(once, text, t.pool.Lease); err != nil {
		if errors.Is(err, ErrLeaseLost) {
			t.lost(err)
		}
		return err
	}
	t.message = m
	return nil
}
