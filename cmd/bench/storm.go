package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"furrow/cmd/internal/setup"
)

// stormConnections is the most connections that are open at a time: fewer than the files that most
// systems let a process open, and than the endpoint holds. The wait for one counts as a device's time.
const stormConnections = 2000

// stormTime is how long devices keep asking.
const stormTime = 10 * time.Minute

// A storm is many devices that ask for their first token at once.
type storm struct {
	devices int
	ask     func(ctx context.Context, device int) error // over a new connection
	slots   chan struct{}                               // one for each open connection

	began       time.Time
	mu          sync.Mutex
	waits       []time.Duration // until a token, including the wait for a connection, of devices that have one
	requests    int
	connections int // most that were open at a time
	tooMany     int // answers with 429
	unavailable int // answers with 503
	errors      int // other answers
	broken      int // requests without an answer
	firstError  error
}

func newStorm(devices int, ask func(context.Context, int) error) *storm {
	return &storm{devices: devices, ask: ask, slots: make(chan struct{}, stormConnections)}
}

// runStorm boots many devices at once against a new endpoint, which has the default limits.
func (s tokenSettings) runStorm(ctx context.Context, site *tokenSite, name string) error {
	e, err := site.openIssuer(ctx, name, 0)
	if err != nil {
		return err
	}
	devices := make([]*http.Request, s.storm)
	for n := range devices {
		if devices[n], err = e.request(fmt.Sprintf("%s-storm-%09d", name, n)); err != nil {
			return err
		}
	}
	x := newStorm(len(devices), func(ctx context.Context, n int) error { return e.ask(ctx, devices[n], e.fresh) })
	err = x.run(ctx)
	if x.firstError != nil {
		fmt.Fprintf(s.errs, "storm on %s: the first error: %v\n", name, x.firstError)
	}
	if len(x.waits) > 0 {
		err = errors.Join(err, printLine(s.out, "Tokens/storm/target="+name, len(x.waits), x.figures()...))
	}
	s.printMemory("the endpoint on "+name, e.process.PID())
	return err
}

// figures returns how long devices waited for their tokens, and how many requests that took.
func (x *storm) figures() []figure {
	waits := quantiles(x.waits)
	last := x.waits[len(x.waits)-1]
	return append(waits, figure{float64(last.Nanoseconds()), "last-ns"}, figure{float64(x.requests), "requests"},
		figure{float64(x.connections), "connections"}, figure{float64(x.tooMany), "answers-429"},
		figure{float64(x.unavailable), "answers-503"}, figure{float64(x.errors), "errors"},
		figure{float64(x.broken), "broken"})
}

// run lasts until every device has its token.
func (x *storm) run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, stormTime)
	defer cancel()
	x.began = time.Now()
	var booting sync.WaitGroup
	for device := range x.devices {
		booting.Go(func() { x.boot(limited, device) })
	}
	booting.Wait()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case len(x.waits) < x.devices:
		return fmt.Errorf("%d of %d devices got no token within %v", x.devices-len(x.waits), x.devices, stormTime)
	}
	return nil
}

// boot asks until there is a token. It pauses as package device does: as long as Retry-After says,
// and for a random time that grows with each failure.
func (x *storm) boot(ctx context.Context, device int) {
	for fails := 0; ctx.Err() == nil; fails++ {
		err := x.once(ctx, device)
		if ctx.Err() != nil || x.note(err) {
			return
		}
		pause := time.Duration(rand.Int64N(int64(min(time.Second<<min(fails, 20), 2*time.Minute))) + 1)
		if refused, ok := errors.AsType[*refusal](err); ok {
			pause += refused.after
		}
		setup.Pause(ctx, pause)
	}
}

func (x *storm) once(ctx context.Context, device int) error {
	select {
	case x.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.slots }()
	x.mu.Lock()
	x.requests++
	x.connections = max(x.connections, len(x.slots))
	x.mu.Unlock()
	return x.ask(ctx, device)
}

// note counts an outcome, and reports whether it is a token.
func (x *storm) note(err error) bool {
	waited := time.Since(x.began)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.waits = append(x.waits, waited)
		return true
	}
	refused, answered := errors.AsType[*refusal](err)
	switch {
	case answered && refused.status == http.StatusTooManyRequests:
		x.tooMany++
		return false
	case answered && refused.status == http.StatusServiceUnavailable:
		x.unavailable++
		return false
	case answered:
		x.errors++
	default:
		x.broken++
	}
	x.firstError = cmp.Or(x.firstError, err)
	return false
}
