package device

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = time.Second
	longestPause = 2 * time.Minute
	deniedPause  = 5 * time.Minute // where only somebody can end a refusal
	maxBytes     = 3 << 20         // of a request
)

// Run sends what was accepted, and goes on until ctx ends; it returns nil then.
// Only one Run may run at a time.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("run: the client runs already")
	}
	defer c.running.Store(false)
	s := &sender{Client: c}
	defer func() { c.buffer.release(s.batch) }()
	for ctx.Err() == nil {
		if err := s.step(ctx); err != nil {
			s.count(func(s *Stats) { s.Err = err })
			sleep(ctx, s.pause(err))
		}
	}
	return nil
}

// A sender is a client that runs.
type sender struct {
	*Client
	token   *token
	refused int  // in a row: tokens that storage took no row by
	denied  bool // it was reported that there is no token
	fails   int  // in a row

	batch []*entry
	whole bool // every request that ever had one of batch had all of it
	alone bool // batch goes row by row: a transaction says nothing that can be understood
}

// step does one thing: it gets a token, or sends a request. An error means that it
// is not to be tried again at once.
func (s *sender) step(ctx context.Context) error {
	if s.clock.known() && len(s.batch) == 0 && !s.buffer.ready() {
		select { // without anything to send there is no need of a token
		case <-ctx.Done():
		case <-s.buffer.wake:
		}
		return nil
	}
	if err := s.ensure(ctx); err != nil {
		return err
	}
	if len(s.batch) == 0 && !s.cut() || !s.sift() {
		return nil
	}
	return s.deliver(ctx)
}

// ensure gets a token where there is none, or it is time for a new one.
func (s *sender) ensure(ctx context.Context) error {
	now := s.clock.since()
	if s.token != nil && now < s.token.renew {
		return nil
	}
	t, err := s.ask(ctx)
	if err == nil {
		s.token, s.denied = t, s.refused > 1
		if s.refused == 0 {
			s.well()
		}
		return nil
	}
	if r, ok := errors.AsType[*Refusal](err); ok && r.lasting() {
		s.deny(err)
	}
	if s.token != nil && now < s.token.expires { // the old one serves on meanwhile
		s.token.renew = now + s.pause(err)
		return nil
	}
	s.token = nil
	return err
}

// cut takes what waits as a batch.
func (s *sender) cut() bool {
	s.batch = s.buffer.next(s.token.batch, maxBytes)
	s.whole, s.alone = true, false
	for _, e := range s.batch {
		s.whole = s.whole && !e.tried
	}
	return len(s.batch) > 0
}

// sift sets aside what the token does not admit, and what has no time.
func (s *sender) sift() bool {
	for i := 0; i < len(s.batch); {
		key, ok := s.batch[i].key()
		switch {
		case !ok:
			s.setAside(i, Timeless, errTimeless)
		case !s.token.admits(key.String()):
			s.setAside(i, OutsideWindow, &windowError{key.String(), s.token.first, s.token.last})
		default:
			i++
		}
	}
	return len(s.batch) > 0
}

// setAside reports an entry and lets it go, in this order: it is reported twice
// rather than never.
func (s *sender) setAside(i int, why Reason, err error) {
	s.report(s.batch[i].report(why, err))
	s.leave(i, i+1)
}

// leave lets entries of the batch go.
func (s *sender) leave(from, to int) {
	s.buffer.remove(s.batch[from:to]...)
	s.batch = append(s.batch[:from:from], s.batch[to:]...)
}

// deny reports, once, that the device cannot write.
func (s *sender) deny(err error) {
	if !s.denied {
		s.denied = true
		s.report(Report{Reason: Denied, Err: err})
	}
}

// well forgets what went wrong.
func (s *sender) well() {
	s.fails = 0
	s.count(func(s *Stats) { s.Err = nil })
}

// pause is how long to wait after err: what it asks for, and a random time that grows
// with each failure, so that those who failed together do not come back together.
func (s *sender) pause(err error) time.Duration {
	r, ok := errors.AsType[*Refusal](err)
	if ok && r.lasting() {
		return time.Duration((0.75 + rand.Float64()/2) * float64(deniedPause))
	}
	longest := min(firstPause<<min(s.fails, 20), longestPause)
	s.fails++
	pause := time.Duration(rand.Int64N(int64(longest)) + 1)
	if ok {
		pause += r.wait
	}
	return pause
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

type windowError struct{ key, first, last string }

func (e *windowError) Error() string {
	return "row " + e.key + " is not one of those from " + e.first + " to " + e.last + " that the token admits"
}
