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
	Transport http.RoundTripper // which all devices share; zero: http.DefaultTransport
	Members   []Member

	// Credential is a device's enrollment, and its own key in base64.
	Credential func(Member) (enrollment schema.EnrollmentID, key string)
	Sendings   func(Member) Stream
	// Backfill is how far back the tokens have to reach; zero: as they do.
	Backfill time.Duration
	// Wall is a device's clock; zero, or a nil clock: the right one.
	Wall func(Member) func() time.Time

	// What is due before now is sent as fast as it goes; with a Pace, so many times
	// faster than real time, as if it were From when Run begins.
	Pace float64
	From time.Time
	For  time.Duration // from when the endpoint knows them; zero: until all is sent, or ctx ends

	Lanes    int           // how many devices send what is past at the same time; zero: 32
	Patience time.Duration // how long a device may keep others waiting that gets nothing sent; zero: 5 s
	// Grace is for what waits: when ctx or the time has ended, all of it; when all was
	// handed over, as long as nothing of it gets stored. Zero: 10 s.
	Grace time.Duration
	Known time.Duration // how long the endpoint has until it knows the enrollments; zero: 15 s

	// the device has taken it; of many devices at the same time; zero: nobody is told
	OnAccepted func(Member, device.Reading)
	OnReport   func(Member, device.Report) // as device.Config's; of many devices at the same time; zero: nobody is told
	OnEnd      func(Member, device.Stats)  // one at a time; zero: nobody is told
	Progress   func(Summary)               // now and then, and at the end; zero: nobody is told
	Log        *slog.Logger                // of devices; zero: slog.Default()
}

// progressEvery is how often there is word of progress.
const progressEvery = 500 * time.Millisecond

// Run lets the devices live until each has sent all that it has to send, or ctx
// or its time ends. Then they have the grace to send what waits; the Summary says what was not.
// An error is one that no device can do anything about.
func Run(ctx context.Context, c Config) (Summary, error) {
	r := newRunner(c)
	if len(c.Members) == 0 {
		return Summary{}, nil
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
	feeding, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var feeds, lives sync.WaitGroup
	for _, m := range c.Members {
		feeds.Add(1)
		lives.Go(func() {
			if err := r.live(feeding, living, m, feeds.Done); err != nil {
				stop(err)
			}
		})
	}
	told := r.tell(func() {
		feeds.Wait()
		over := make(chan struct{})
		go r.grace(feeding, over, func() { end(errGrace) })
		lives.Wait()
		close(over)
	})
	err := context.Cause(feeding)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = nil
	}
	return told, err
}

// grace ends the lives when the grace is over, unless over is closed before.
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

var errGrace = errors.New("the time for what waits is over")

// A runner is a Run.
type runner struct {
	Config
	lanes chan struct{}
	began time.Time

	mu     sync.Mutex
	alive  map[*life]bool
	past   Summary // of those that have ended
	aside  map[device.Reason]int64
	denied int // devices
}

func newRunner(c Config) *runner {
	c.Patience, c.Grace = cmp.Or(c.Patience, 5*time.Second), cmp.Or(c.Grace, 10*time.Second)
	c.Known = cmp.Or(c.Known, sas.Recent+5*time.Second)
	c.Transport = lasting{cmp.Or[http.RoundTripper](c.Transport, http.DefaultTransport)}
	c.Log = cmp.Or(c.Log, slog.Default())
	return &runner{Config: c, lanes: make(chan struct{}, cmp.Or(c.Lanes, 32)), began: time.Now(),
		alive: map[*life]bool{}, aside: map[device.Reason]int64{}}
}

// lasting is a transport whose idle connections no client closes, as all share them.
type lasting struct{ http.RoundTripper }

// tell runs something, with word of the progress meanwhile, and gives the last one.
func (r *runner) tell(run func()) Summary {
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

// when is the time at which something is to be handed over that is due.
func (r *runner) when(due time.Time) time.Time {
	if r.Pace <= 0 {
		return due
	}
	paced := r.began.Add(time.Duration(float64(due.Sub(r.From)) / r.Pace))
	if paced.After(due) {
		return paced // the past, until it has caught up with now
	}
	return due
}
