package bench

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// A limiter admits a number of devices, and tells the others when to come back.
type limiter struct {
	t    *testing.T
	mu   sync.Mutex
	left int
	when map[int]time.Time // that a device must not come back before
}

func (l *limiter) ask(_ context.Context, device int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if early := time.Until(l.when[device]); early > 0 {
		l.t.Errorf("device %d came %v too early", device, early)
	}
	if l.left > 0 {
		l.left--
		return nil
	}
	const after = 3 * time.Second
	l.when[device] = time.Now().Add(after)
	return &refusal{status: http.StatusTooManyRequests, code: "too-many-requests", after: after}
}

func TestDevicesOfAStormObeyRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limiter{t: t, left: 100, when: map[int]time.Time{}}
		refill := time.AfterFunc(time.Minute, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.left = 200
		})
		defer refill.Stop()
		s := must.Have(newStorm("http", 300, l.ask).run(t.Context()))(t)
		if s.Tokens != 300 || s.TooMany < 200 || s.Requests != 300+s.TooMany || s.Errors+s.Broken+s.Unavailable > 0 {
			t.Errorf("the storm is %+v", s)
		}
		if s.Seconds < 60 || s.P50 < 60_000 || s.P99 < s.P50 || s.P99 > s.Seconds*1000 {
			t.Errorf("two of three devices wait longer than a minute, but the storm is %+v", s)
		}
	})
}

func TestStormLimitsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newStorm("http", 2*stormConnections, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}).run(t.Context())
		if err != nil || s.Connections != stormConnections || s.Seconds != 2 || s.P50 != 1000 {
			t.Errorf("%v, %+v; half of the devices wait for a connection, which counts as their time", err, s)
		}
	})
}

func TestStormEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newStorm("http", 2, func(_ context.Context, device int) error {
			if device == 0 {
				return errors.New("connection refused")
			}
			return &refusal{status: http.StatusForbidden, code: "revoked"}
		}).run(t.Context())
		if err == nil || errors.Is(err, errInterrupted) || s.Tokens != 0 || s.Broken == 0 || s.Errors == 0 ||
			s.FirstError == "" {
			t.Errorf("%v, %+v", err, s)
		}
	})
}

func TestInterruptedStormReportsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		defer interrupt()
		s, err := newStorm("http", 10, func(ctx context.Context, device int) error {
			if device < 4 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}).run(ctx)
		if !errors.Is(err, errInterrupted) || s.Tokens != 4 || s.Broken+s.Errors > 0 {
			t.Errorf("%v, %+v", err, s)
		}
	})
}
