package simulate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"furrow/sas"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// Config says which devices run, and what they send.
type Config struct {
	Endpoint  string            // URL of the SAS endpoint
	Transport http.RoundTripper // shared by all devices; nil: http.DefaultTransport
	Members   []Member

	// Credential returns a device's enrollment and its own key in base64.
	Credential func(Member) (enrollment schema.EnrollmentID, key string)
	Sendings   func(Member) Stream
	// Resume returns what a device sends from the reading of a time on. A device that sleeps then keeps nothing of its
	// stream; nil: it keeps that.
	Resume func(m Member, from time.Time) Stream
	// Backfill is how far back tokens must reach; zero: any token will do.
	Backfill time.Duration
	// Wall returns a device's clock. It may be nil or return nil, for the correct clock.
	Wall func(Member) func() time.Time

	// Readings that are overdue are sent as fast as possible. With a Pace, they are sent so many times faster
	// than real time, beginning at From.
	Pace float64
	From time.Time
	For  time.Duration // after the endpoint knows the enrollments; zero: until all is sent

	Patience time.Duration // how long a stalled device keeps its lane; zero: 5 s
	// Grace is the time for waiting readings after ctx or the time has ended, or after the last reading: then
	// it starts over with each reading that is stored. Zero: 10 s.
	Grace time.Duration
	Known time.Duration // time for the endpoint to learn of the enrollments; zero: 15 s

	// All may be nil. The first two are called concurrently for different devices.
	OnAccepted func(Member, device.Reading)
	OnCommand  func(Member, device.Command) (result any, err error) // nil: devices read no commands
	Progress   func(Summary)                                        // now and then, and at the end
	Log        *slog.Logger                                         // of devices; nil: slog.Default()
}

const progressEvery = 500 * time.Millisecond

// Run runs the devices until each has sent everything, or until ctx or the time ends. Then they have the grace to
// send what waits; the Summary counts the rest. An error affects all devices.
func Run(ctx context.Context, c Config) (Summary, error) {
	r := newRunner(c)
	if len(c.Members) == 0 {
		return Summary{}, nil
	}
	for _, m := range c.Members {
		if _, err := schema.ParseDeviceID(string(m.ID)); err != nil {
			return Summary{}, err
		}
	}
	if err := r.await(ctx); err != nil {
		return r.summary(), err
	}
	r.began = time.Now()
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	// Clients run on for the grace after ctx has ended.
	living, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	r.living = living
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	told := r.reportWhile(func() {
		r.feedAll(feeding, stop)
		over := make(chan struct{})
		go r.grace(feeding, over, func() { end(errGrace) })
		if err := r.endAll(); err != nil {
			stop(err)
		}
		close(over)
	})
	err := context.Cause(feeding)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = nil
	}
	return told, err
}

// feedAll has the devices take their turns until none has anything left to send, or ctx ends. An error stops all.
func (r *runner) feedAll(ctx context.Context, stop func(error)) {
	past, live := newSchedule(lanes), newSchedule(turns)
	var left sync.WaitGroup
	left.Add(len(r.lives))
	done, over := context.WithCancel(ctx)
	defer over()
	go func() {
		left.Wait()
		over()
	}()
	take := func(l *life) {
		at, more, err := r.turn(ctx, l)
		if next := r.boots.end(l, !more || r.booted(l), time.Now()); next != nil {
			live.add(time.Now(), next)
		}
		switch {
		case err != nil:
			stop(err)
			fallthrough
		case !more:
			left.Done()
		case at.IsZero(): // it waits for its boot
		case at.Before(r.began):
			past.add(at, l)
		default:
			live.add(at, l)
		}
	}
	for i := range r.lives {
		past.add(r.began.Add(-time.Nanosecond), &r.lives[i]) // what it sends first is not known yet
	}
	var both sync.WaitGroup
	both.Go(func() { past.run(done, take) })
	both.Go(func() { live.run(done, take) })
	both.Wait()
	for range past.left() + live.left() + len(r.boots.waiting) {
		left.Done()
	}
}

// grace calls end when the grace is over, unless over is closed before.
func (r *runner) grace(feeding context.Context, over <-chan struct{}, end func()) {
	stored, since := int64(-1), time.Now()
	ticks := time.NewTicker(min(r.Grace, progressEvery))
	defer ticks.Stop()
	for {
		if now := r.summary().Stored; now > stored && feeding.Err() == nil {
			stored, since = now, time.Now()
		}
		if time.Since(since) >= r.Grace {
			end()
			return
		}
		select {
		case <-ticks.C:
		case <-over:
			return
		}
	}
}

var errGrace = errors.New("the grace for waiting readings is over")

type runner struct {
	Config
	began  time.Time
	living context.Context // of clients
	lives  []life
	boots  boots

	mu     sync.Mutex
	awake  map[*life]bool
	past   Summary // of clients that are closed
	aside  map[device.Reason]int64
	denied int // devices
}

const (
	lanes = 32   // how many devices send old readings at the same time
	turns = 1024 // how many others send at the same time: each takes a moment, unless its stream has it wait
)

func newRunner(c Config) *runner {
	c.Patience, c.Grace = cmp.Or(c.Patience, 5*time.Second), cmp.Or(c.Grace, 10*time.Second)
	c.Known = cmp.Or(c.Known, sas.Recent+5*time.Second)
	c.Transport = lasting{cmp.Or[http.RoundTripper](c.Transport, http.DefaultTransport)}
	c.Log = cmp.Or(c.Log, slog.Default())
	r := &runner{Config: c, began: time.Now(), lives: make([]life, len(c.Members)), awake: map[*life]bool{},
		aside: map[device.Reason]int64{}, boots: boots{since: map[*life]time.Time{}}}
	for i := range r.lives {
		r.lives[i].member = &c.Members[i]
	}
	return r
}

// lasting is a transport whose idle connections no client closes, because all share them.
type lasting struct{ http.RoundTripper }

// reportWhile calls run, reports progress meanwhile, and returns the final summary.
func (r *runner) reportWhile(run func()) Summary {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	ticks := time.NewTicker(progressEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if r.Progress != nil {
				r.Progress(r.summary())
			}
		case <-done:
			s := r.summary()
			if r.Progress != nil {
				r.Progress(s)
			}
			return s
		}
	}
}

// when returns the time at which something due is sent.
func (r *runner) when(due time.Time) time.Time {
	if r.Pace <= 0 {
		return due
	}
	paced := r.began.Add(time.Duration(float64(due.Sub(r.From)) / r.Pace))
	if paced.After(due) {
		return paced // still catching up
	}
	return due
}
