package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstPause   = time.Second
	longestPause = 2 * time.Minute
	deniedPause  = 5 * time.Minute // while an operator has to act
)

// Run sends accepted readings until ctx ends, and then returns nil. Only one Run may be
// active at a time.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("run: the client is already running")
	}
	defer c.running.Store(false)
	s := &sender{Client: c, poller: c.newPoller(), token: c.held}
	defer func() { c.held = s.token }()
	var obeying sync.WaitGroup
	defer obeying.Wait()
	if s.poller.wanted() {
		obeying.Go(func() { s.poller.obey(ctx) })
	}
	for ctx.Err() == nil {
		if err := s.step(ctx); err != nil {
			s.count(func(s *Stats) { s.Err = err })
			select {
			case <-time.After(s.pause(err)):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// A sender is the state of Run.
type sender struct {
	*Client
	poller  *poller
	token   *token
	refused int  // consecutive tokens that storage refused
	denied  bool // Denied was reported
	fails   int  // consecutive failures

	batch []*entry
	whole bool // every earlier request with any of batch contained all of it
	alone bool // send row by row, because the transaction's response was not conclusive
}

// step requests a token, sends a batch, and reads commands if it is time. After an error the sender pauses.
func (s *sender) step(ctx context.Context) error {
	if s.clock.known() && len(s.batch) == 0 && len(s.buffer.next(1)) == 0 && !s.poller.isDue() {
		select { // no token is needed while nothing waits
		case <-ctx.Done():
		case <-s.buffer.wake:
		case <-s.poller.wait():
		}
		return nil
	}
	if err := s.ensureToken(ctx); err != nil {
		return err
	}
	if len(s.batch) > 0 || s.nextBatch() {
		if s.setAsideUnsendable() {
			if err := s.deliver(ctx); err != nil {
				return err
			}
		}
	}
	if s.token != nil && s.poller.isDue() && s.poller.poll(ctx, s.token) == denied {
		return s.discardToken(s.poller.err)
	}
	return nil
}

// ensureToken requests a token if there is none or it is due for renewal.
func (s *sender) ensureToken(ctx context.Context) error {
	now := s.clock.since()
	if s.token != nil && now < s.token.renew {
		return nil
	}
	t, err := s.requestToken(ctx, "")
	if err == nil {
		s.token, s.denied = t, s.refused > 1
		s.poller.renewed(t)
		if s.refused == 0 {
			s.clearFailures()
		}
		return nil
	}
	if r, ok := errors.AsType[*Refusal](err); ok && r.permanent() {
		s.reportDenied(err)
	}
	if s.token != nil && now < s.token.expires { // keep using the old one
		s.token.renew = now + s.pause(err)
		return nil
	}
	s.token = nil
	return err
}

// nextBatch takes the next waiting readings as the batch.
func (s *sender) nextBatch() bool {
	s.batch = s.buffer.next(s.token.batch)
	s.whole, s.alone = true, false
	for _, e := range s.batch {
		s.whole = s.whole && !e.tried
	}
	return len(s.batch) > 0
}

// setAsideUnsendable sets aside readings that the token does not admit or that have no time.
func (s *sender) setAsideUnsendable() bool {
	for i := 0; i < len(s.batch); {
		key, ok := s.batch[i].key()
		switch {
		case !ok:
			s.setAside(i, Timeless, errTimeless)
		case !s.token.admits(key.String()):
			s.setAside(i, OutsideWindow, fmt.Errorf("row %s is outside of the range from %s to %s that the token admits",
				key, s.token.first, s.token.last))
		default:
			i++
		}
	}
	return len(s.batch) > 0
}

// setAside reports an entry and then removes it: better reported twice than never.
func (s *sender) setAside(i int, why Reason, err error) {
	s.report(s.batch[i].report(why, err))
	s.remove(i, i+1)
}

// remove removes entries of the batch.
func (s *sender) remove(from, to int) {
	s.buffer.remove(s.batch[from:to]...)
	s.batch = append(s.batch[:from:from], s.batch[to:]...)
}

// reportDenied reports once that the device cannot write.
func (s *sender) reportDenied(err error) {
	if !s.denied {
		s.denied = true
		s.report(Report{Reason: Denied, Err: err})
	}
}

// clearFailures resets the failure state after a success.
func (s *sender) clearFailures() {
	s.fails = 0
	s.count(func(s *Stats) { s.Err = nil })
}

// pause returns how long to wait after err: the requested wait plus a random time that grows
// with each failure, so that devices that failed together do not retry together.
func (s *sender) pause(err error) time.Duration {
	r, ok := errors.AsType[*Refusal](err)
	if ok && r.permanent() {
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
