package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
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
	*issuer
	began       time.Time
	connections chan struct{}

	mu    sync.Mutex
	found Storm
	waits []time.Duration // of devices that have a token
}

// storm boots many devices at once, against an endpoint of its own with the default
// limits. The outcome is nil where the storm did not begin.
func (cfg TokenConfig) storm(ctx context.Context, s *site, name string) (*Storm, error) {
	var limits []string
	if cfg.StormRate > 0 {
		limits = []string{"--rate", strconv.Itoa(cfg.StormRate)}
	}
	e, err := s.openIssuer(ctx, name, limits...)
	if err != nil {
		return nil, err
	}
	devices := make([]*http.Request, cfg.Storm)
	for n := range devices {
		if devices[n], err = e.request(fmt.Sprintf("%s-storm-%09d", name, n)); err != nil {
			return nil, err
		}
	}
	x := &storm{issuer: e, connections: make(chan struct{}, stormConnections)}
	x.found = Storm{Target: name, Devices: len(devices)}
	bar := newProgress(cfg.Progress, stormTime)
	x.rage(ctx, devices, bar)
	bar.done()
	x.found.PeakMemory = peakMemory(e.server.command.Process.Pid)
	if ctx.Err() != nil {
		return &x.found, errInterrupted
	}
	if x.found.Tokens < x.found.Devices {
		return &x.found, fmt.Errorf("%d of %d devices have no token after %v", x.found.Devices-x.found.Tokens, x.found.Devices, stormTime)
	}
	return &x.found, nil
}

// rage lasts until every device has its token.
func (x *storm) rage(ctx context.Context, devices []*http.Request, bar *progress) {
	ctx, cancel := context.WithTimeout(ctx, stormTime)
	defer cancel()
	x.began = time.Now()
	var booting sync.WaitGroup
	for _, r := range devices {
		booting.Go(func() { x.boot(ctx, r) })
	}
	done := make(chan struct{})
	go func() { booting.Wait(); close(done) }()
	watch(done, stormTime, func(d time.Duration) {
		x.mu.Lock()
		bar.describe(fmt.Sprintf("%s: storm, %d of %d devices have a token", x.name, len(x.waits), len(devices)))
		x.mu.Unlock()
		bar.tick(d)
	})
	slices.Sort(x.waits)
	if n := len(x.waits); n > 0 {
		x.found.Tokens = n
		x.found.Seconds = x.waits[n-1].Seconds()
		x.found.P50 = milliseconds(x.waits[(n-1)*50/100])
		x.found.P99 = milliseconds(x.waits[(n-1)*99/100])
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// boot asks until there is a token. Its pauses are those of package device.
func (x *storm) boot(ctx context.Context, r *http.Request) {
	for fails := 0; ctx.Err() == nil; fails++ {
		err := x.once(ctx, r)
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

func (x *storm) once(ctx context.Context, r *http.Request) error {
	select {
	case x.connections <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	x.mu.Lock()
	x.found.Requests++
	x.found.Connections = max(x.found.Connections, len(x.connections))
	x.mu.Unlock()
	defer func() { <-x.connections }()
	return x.ask(ctx, r, true)
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
		x.found.FirstError = err.Error()
	}
	return false
}
