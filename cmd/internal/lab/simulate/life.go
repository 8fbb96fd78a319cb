package simulate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"furrow/sas/device"
)

const (
	// portion is how many old readings a device sends before another device gets its lane. It bounds the
	// readings in memory.
	portion = 500
	// nap is how long a device has to have nothing to do, so that its client is closed.
	nap = 10 * time.Second
	// holds is how many bytes a device keeps. When they are full, it takes no readings until some are sent.
	holds = 1 << 20
	// pollEvery is how often devices that take commands read them: more often than real ones, for people who wait.
	pollEvery = 10 * time.Second
)

// A life is a device that runs. While it has nothing to send it sleeps, unless it takes commands: then it has no
// client, and keeps less than a kilobyte.
type life struct {
	member  *Member
	session *device.Session // while it sleeps
	client  *opened         // while it does not
	stream  *stream         // nil before its first turn, and while a device sleeps that can resume it
	resume  time.Time       // the time of the reading that it sends next, then
	old     bool            // its last reading was from before the beginning
	stalled bool            // it sends no other old readings before those that wait
	checks  int             // since it woke, whether readings wait

	tokens int64 // of clients that are closed
	denied bool  // under the runner's mu
}

// An opened is a client that runs.
type opened struct {
	*device.Client
	stop  func()
	ended chan error
}

// A stream is what a device has not sent yet.
type stream struct {
	next func() (Sending, bool)
	stop func()
	head Sending
	more bool // there is a head
}

func pull(all Stream) *stream {
	s := &stream{}
	s.next, s.stop = iter.Pull(all)
	s.head, s.more = s.next()
	return s
}

// booted reports whether a device has had a token, or is denied one.
func (r *runner) booted(l *life) bool {
	r.mu.Lock()
	denied := l.denied
	r.mu.Unlock()
	return denied || l.tokens > 0 || l.client != nil && l.client.Stats().Tokens > 0
}

// turn has a device send what is due, and puts it to sleep when nothing of it waits. It returns when its next turn is:
// zero if boots says so later. more is false when it has nothing left to send.
func (r *runner) turn(ctx context.Context, l *life) (at time.Time, more bool, err error) {
	switch {
	case l.stream == nil && l.resume.IsZero():
		l.stream = pull(r.Sendings(*l.member))
	case l.stream == nil:
		l.stream = pull(r.Resume(*l.member, l.resume))
	}
	s := l.stream
	if l.stalled = l.stalled && l.waits(); l.stalled {
		return l.nextCheck(), ctx.Err() == nil, nil
	}
	if s.more && r.isDue(s.head) || r.OnCommand != nil {
		if !r.booted(l) && !r.boots.begin(l, time.Now()) {
			return time.Time{}, true, nil
		}
		if err := r.wake(l); err != nil {
			return at, false, err
		}
		r.sendDue(ctx, l)
	}
	if ctx.Err() != nil || !s.more {
		return l.nextCheck(), ctx.Err() == nil && l.old && l.waits(), nil // what is new has the grace
	}
	at = r.when(s.head.Due)
	switch {
	case l.client == nil:
	case at.Before(r.began): // it goes on when others have had their turns
		if l.stalled = !r.flush(ctx, l); l.stalled {
			at = l.nextCheck()
		}
	case l.waits():
		if check := l.nextCheck(); check.Before(at) || r.isDue(s.head) {
			at = check
		}
	case r.OnCommand == nil && time.Until(at) > nap:
		err = r.sleep(l)
	}
	if l.client == nil && r.Resume != nil {
		s.stop()
		l.stream, l.resume = nil, s.head.Reading.Time
	}
	return at, true, err
}

func (r *runner) isDue(s Sending) bool { return !r.when(s.Due).After(time.Now()) }

// waits reports whether something of the device waits to be stored.
func (l *life) waits() bool {
	if l.client == nil {
		return false
	}
	s := l.client.Stats()
	return s.Waiting+s.Acks.Waiting > 0
}

// nextCheck returns when to see whether readings still wait: soon at first.
func (l *life) nextCheck() time.Time {
	l.checks++
	return time.Now().Add(min(time.Second, 10*time.Millisecond<<min(l.checks, 7)))
}

// wake opens the device's client, unless it is open.
func (r *runner) wake(l *life) (err error) {
	if l.client != nil {
		return nil
	}
	l.checks = 0
	enrollment, key := r.Credential(*l.member)
	c := device.Config{Endpoint: r.Endpoint, Device: l.member.ID, Enrollment: string(enrollment), Key: key,
		Transport: r.Transport, MaxBytes: holds, OnReport: func(report device.Report) { r.noted(l, report) }, Log: r.Log,
		Session: l.session}
	if r.OnCommand != nil {
		c.PollEvery = pollEvery
		c.OnCommand = func(_ context.Context, told device.Command) (any, error) { return r.OnCommand(*l.member, told) }
	}
	if r.Wall != nil {
		c.Wall = r.Wall(*l.member)
	}
	client, err := device.Open(c)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(r.living)
	on := &opened{client, stop, make(chan error, 1)}
	go func() { on.ended <- client.Run(running) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	l.client, r.awake[l] = on, true
	return nil
}

// sleep closes the device's client.
func (r *runner) sleep(l *life) error {
	on := l.client
	on.stop()
	err := errors.Join(<-on.ended, on.Close())
	stats := on.Stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.awake, l)
	r.past.add(stats, l.tokens == 0)
	l.tokens += stats.Tokens
	l.client, l.session = nil, on.Session()
	return err
}

// sendDue sends what is due, at most a portion of it.
func (r *runner) sendDue(ctx context.Context, l *life) {
	s := l.stream
	for n := 0; n < portion && s.more && ctx.Err() == nil && !r.when(s.head.Due).After(time.Now()); n++ {
		l.old = r.when(s.head.Due).Before(r.began)
		err := l.client.Send(s.head.Reading)
		switch {
		case errors.Is(err, device.ErrFull):
			return
		case err != nil:
			r.refused(l, fmt.Errorf("reading of %s: %w", s.head.Reading.Time.Format(time.RFC3339), err))
		default:
			r.made()
			if r.OnAccepted != nil {
				r.OnAccepted(*l.member, s.head.Reading)
			}
		}
		s.head, s.more = s.next()
	}
}

// flush waits for a while until old readings are stored or reported, and reports whether they are.
func (r *runner) flush(ctx context.Context, l *life) bool {
	soon, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	return l.client.Flush(soon) == nil
}

// endAll has the devices send what waits, until living ends, and closes them.
func (r *runner) endAll() error {
	r.mu.Lock()
	waiting := slices.Collect(maps.Keys(r.awake))
	r.mu.Unlock()
	for _, l := range waiting {
		_ = l.client.Flush(r.living) // the stats count what still waits
	}
	var errs []error
	for i := range r.lives {
		l := &r.lives[i]
		if l.client != nil {
			errs = append(errs, r.sleep(l))
		}
		if l.stream != nil {
			l.stream.stop()
		}
	}
	return errors.Join(errs...)
}
