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

	"furrow/cmd/internal/process"
)

// stormConnections is the most connections that are open at a time: fewer than the files that most
// systems let a process open, and than the endpoint holds. The wait for one counts as a device's time.
const stormConnections = 2000

// stormTime is how long devices keep asking.
const stormTime = 10 * time.Minute

// A storm is many devices that ask for their first token at once.
type storm struct {
	target  string
	devices int
	ask     func(ctx context.Context, device int) error // over a new connection
	slots   chan struct{}                               // one for each open connection

	began time.Time
	mu    sync.Mutex
	found Storm
	waits []time.Duration // until a token, of devices that have one
}

func newStorm(target string, devices int, ask func(context.Context, int) error) *storm {
	return &storm{
		target: target, devices: devices, ask: ask, slots: make(chan struct{}, stormConnections),
		found: Storm{Target: target, Devices: devices},
	}
}

// storm boots many devices at once against a new endpoint, which has the default limits. It returns
// the zero Storm if the storm did not begin.
func (cfg TokenConfig) storm(ctx context.Context, s *tokenSite, name string) (Storm, error) {
	var limits []string
	if cfg.StormRate > 0 {
		limits = []string{"--rate", strconv.Itoa(cfg.StormRate)}
	}
	e, err := s.openIssuer(ctx, name, 0, limits...)
	if err != nil {
		return Storm{}, err
	}
	devices := make([]*http.Request, cfg.Storm)
	for n := range devices {
		if devices[n], err = e.request(fmt.Sprintf("%s-storm-%09d", name, n)); err != nil {
			return Storm{}, err
		}
	}
	x := newStorm(name, len(devices), func(ctx context.Context, n int) error { return e.ask(ctx, devices[n], e.fresh) })
	cfg.progress("%s: storm", name)
	found, err := x.run(ctx)
	found.PeakMemory = process.PeakMemory(e.process.PID())
	return found, err
}

// run lasts until every device has its token.
func (x *storm) run(ctx context.Context) (Storm, error) {
	limited, cancel := context.WithTimeout(ctx, stormTime)
	defer cancel()
	x.began = time.Now()
	var booting sync.WaitGroup
	for device := range x.devices {
		booting.Go(func() { x.boot(limited, device) })
	}
	booting.Wait()
	found := x.sum()
	switch {
	case ctx.Err() != nil:
		return found, errInterrupted
	case found.Tokens < found.Devices:
		return found, fmt.Errorf("%d of %d devices got no token within %v", found.Devices-found.Tokens, found.Devices,
			stormTime)
	}
	return found, nil
}

// sum returns the result once all devices are done.
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
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
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
	x.found.Requests++
	x.found.Connections = max(x.found.Connections, len(x.slots))
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
		x.found.TooMany++
		return false
	case answered && refused.status == http.StatusServiceUnavailable:
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
