package main

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
		s := newStorm(300, l.ask)
		must.Succeed(t, s.run(t.Context()))
		if len(s.waits) != 300 || s.tooMany < 200 || s.requests != 300+s.tooMany || s.errors+s.broken+s.unavailable > 0 {
			t.Errorf("the storm is %+v", s)
		}
		minute := float64(time.Minute)
		if f := s.figures(); f[0].value < minute || f[1].value < f[0].value || f[2].value < f[1].value {
			t.Errorf("two of three devices wait longer than a minute, but the storm is %+v", f)
		}
	})
}

func TestStormLimitsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(2*stormConnections, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		})
		must.Succeed(t, s.run(t.Context()))
		if f := s.figures(); s.connections != stormConnections || f[2].value != 2e9 || f[0].value != 1e9 {
			t.Errorf("%+v; half of the devices wait for a connection, which counts as their time", f)
		}
	})
}

func TestStormEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStorm(2, func(_ context.Context, device int) error {
			if device == 0 {
				return errors.New("connection refused")
			}
			return &refusal{status: http.StatusForbidden, code: "revoked"}
		})
		err := s.run(t.Context())
		if err == nil || errors.Is(err, errInterrupted) || len(s.waits) != 0 || s.broken == 0 || s.errors == 0 ||
			s.firstError == nil {
			t.Errorf("%v, %+v", err, s)
		}
	})
}

func TestInterruptedStormReportsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		defer interrupt()
		s := newStorm(10, func(ctx context.Context, device int) error {
			if device < 4 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err := s.run(ctx); !errors.Is(err, errInterrupted) || len(s.waits) != 4 || s.broken+s.errors > 0 {
			t.Errorf("%v, %+v", err, s)
		}
	})
}
