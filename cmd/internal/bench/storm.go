package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stormConnections are open at a time: fewer than a process may have of files, by
// most systems' defaults, and than the endpoint holds. A device waits for its turn,
// and that is part of its time.
const stormConnections = 4000

// stormTime is how long devices go on asking.
const stormTime = 10 * time.Minute

// A storm is under way.
type storm struct {
	target  string
	devices int
	ask     func(ctx context.Context, device int) error // over a connection of its own
	places  chan struct{}                               // one for each connection

	began time.Time
	mu    sync.Mutex
	found Storm
	waits []time.Duration // of devices that have a token
}

func newStorm(target string, devices int, ask func(context.Context, int) error) *storm {
	return &storm{
		target: target, devices: devices, ask: ask, places: make(chan struct{}, stormConnections),
		found: Storm{Target: target, Devices: devices},
	}
}

// storm boots many devices at once, against an endpoint of its own with the default
// limits. What is found is zero where the storm did not begin.
func (cfg TokenConfig) storm(ctx context.Context, s *site, name string) (Storm, error) {
	var limits []string
	if cfg.StormRate > 0 {
		limits = []string{"--rate", strconv.Itoa(cfg.StormRate)}
	}
	e, err := s.openIssuer(ctx, name, limits...)
	if err != nil {
		return Storm{}, err
	}
	devices := make([]*http.Request, cfg.Storm)
	for n := range devices {
		if devices[n], err = e.request(fmt.Sprintf("%s-storm-%09d", name, n)); err != nil {
			return Storm{}, err
		}
	}
	x := newStorm(name, len(devices), func(ctx context.Context, n int) error { return e.ask(ctx, devices[n], true) })
	bar := newProgress(cfg.Progress, int64(len(devices)))
	defer bar.done()
	bar.describe(name + ": storm")
	found, err := x.rage(ctx, bar)
	found.PeakMemory = peakMemory(e.server.command.Process.Pid)
	return found, err
}

// rage lasts until every device has its token.
func (x *storm) rage(ctx context.Context, bar *progress) (Storm, error) {
	raging, cancel := context.WithTimeout(ctx, stormTime)
	defer cancel()
	x.began = time.Now()
	var booting sync.WaitGroup
	for device := range x.devices {
		booting.Go(func() { x.boot(raging, device) })
	}
	done := make(chan struct{})
	go func() { booting.Wait(); close(done) }()
	shown := 0
	watch(done, stormTime, func(time.Duration) {
		x.mu.Lock()
		now := len(x.waits)
		x.mu.Unlock()
		bar.add(int64(now - shown))
		shown = now
	})
	found := x.sum()
	switch {
	case ctx.Err() != nil:
		return found, errInterrupted
	case found.Tokens < found.Devices:
		return found, fmt.Errorf("%d of %d devices have no token after %v", found.Devices-found.Tokens, found.Devices, stormTime)
	}
	return found, nil
}

// sum is what was found, when all devices have come to rest.
func (x *storm) sum() Storm {
	slices.Sort(x.waits)
	if n := len(x.waits); n > 0 {
		x.found.Tokens = n
		x.found.Seconds = x.waits[n-1].Seconds()
		x.found.P50 = milliseconds(x.waits[(n-1)*50/100])
		x.found.P99 = milliseconds(x.waits[(n-1)*99/100])
	}
	return x.found
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// boot asks until there is a token. Its pauses are those of package device: what it
// is told, and a random time that grows with each failure.
func (x *storm) boot(ctx context.Context, device int) {
	for fails := 0; ctx.Err() == nil; fails++ {
		err := x.once(ctx, device)
		if ctx.Err() != nil || x.note(err) {
			return
		}
		pause := time.Duration(rand.Int64N(int64(min(time.Second<<min(fails, 20), 2*time.Minute))) + 1)
		if away, ok := errors.AsType[*turnedAway](err); ok {
			pause += away.after
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (x *storm) once(ctx context.Context, device int) error {
	select {
	case x.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.places }()
	x.mu.Lock()
	x.found.Requests++
	x.found.Connections = max(x.found.Connections, len(x.places))
	x.mu.Unlock()
	return x.ask(ctx, device)
}

// note counts an outcome, and tells whether it is a token.
func (x *storm) note(err error) bool {
	waited := time.Since(x.began)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.waits = append(x.waits, waited)
		return true
	}
	away, answered := errors.AsType[*turnedAway](err)
	switch {
	case answered && away.status == http.StatusTooManyRequests:
		x.found.TooMany++
		return false
	case answered && away.status == http.StatusServiceUnavailable:
		x.found.Unavailable++
		return false
	case answered:
		x.found.Errors++
	default:
		x.found.Broken++
	}
	if x.found.FirstError == "" {
		x.found.FirstError, _, _ = strings.Cut(err.Error(), "\n")
	}
	return false
}
