package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"furrow/jobs"
)

// A delivery is the processing of one message by a pool.
type delivery struct {
	pool  *Pool
	lease *Lease
	lost  context.CancelCauseFunc // ends the job's context

	mu      sync.Mutex
	message jobs.Message // as last saved
}

// Reasons not to run the job of a message.
var (
	errStopped = errors.New("the pool is stopping")
	errDeadly  = errors.New("the message seems to crash its workers")
)

// runJob runs the job of a message and finishes the message.
func (p *Pool) runJob(ctx context.Context, l *Lease) Result {
	start := time.Now()
	l.heed = p.countBusy
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
		err = fmt.Errorf("%w: %d of them crashed during its job", errDeadly, m.Deaths)
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

// work runs the job and renews its lease until the job returns. Nothing is renewed after that, because finishing the
// message needs the newest receipt.
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
		return cause // whatever the job has made of it
	}
	return err
}

// call calls Work. A panic fails this job and no other.
func (t *delivery) call(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the job panicked: %v", r)
			t.pool.Log.ErrorContext(ctx, "a job panicked", "message", t.lease.Text(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	return t.pool.Work(ctx, t.message, t.save)
}

// save stores the progress of a job in its message. Once it has begun, it ignores the end of ctx: a canceled update
// would leave a receipt that nobody knows, so the message could not be given back.
func (t *delivery) save(ctx context.Context, m jobs.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	m.Attempts, m.Busy, m.Taken, m.Deaths = t.message.Attempts, t.message.Busy, t.message.Taken, t.message.Deaths
	if !reflect.DeepEqual(m, t.message) {
		m = m.Untried()
		m.Taken = t.lease.Taken - 1 // all but this get, which has not ended yet
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

// renew renews the lease after each third of its time until the job has returned, and ends the job if the lease is
// lost. When the pool stops, it continues for as long as the job may take to return.
func (t *delivery) renew(ctx context.Context, returned <-chan struct{}) {
	lease := t.pool.Lease
	linger, cancel := outliving(ctx, t.pool.Grace)
	defer cancel()
	for pause := t.untilRenewal(); ; {
		if received(linger, returned, pause) || linger.Err() != nil {
			return
		}
		if pause = t.untilRenewal(); pause > 0 {
			continue // the job has saved, which also renews
		}
		err := t.renewOnce(linger)
		switch {
		case err == nil:
			pause = t.untilRenewal()
		case errors.Is(err, ErrLeaseLost):
			t.lost(err)
			return
		case time.Until(t.lease.Until()) <= 0:
			t.lost(fmt.Errorf("%w: it ended before it could be renewed: %w", ErrLeaseLost, err))
			return
		default:
			t.pool.countBusy(err)
			t.pool.Log.WarnContext(ctx, "a lease could not be renewed yet", "message", t.lease.Text(), "error", err)
			pause = min(lease/12, max(0, time.Until(t.lease.Until())))
		}
	}
}

// untilRenewal returns how much of the first third of the lease is left.
func (t *delivery) untilRenewal() time.Duration {
	return max(0, time.Until(t.lease.Until())-t.pool.Lease*2/3)
}

// renewOnce is not canceled when the job returns, because only the service's answer has the next receipt.
func (t *delivery) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.pool.Lease/3)
	defer cancel()
	return t.lease.Renew(ctx, t.pool.Lease)
}
