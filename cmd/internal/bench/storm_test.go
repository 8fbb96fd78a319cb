package bench

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A window lets so many devices pass a second, and says to the others when to come.
type window struct {
	t    *testing.T
	mu   sync.Mutex
	left int
	when map[int]time.Time // devices must not come before
}

func (w *window) ask(_ context.Context, device int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if early := time.Until(w.when[device]); early > 0 {
		w.t.Errorf("device %d comes %v too early", device, early)
	}
	if w.left > 0 {
		w.left--
		return nil
	}
	const after = 3 * time.Second
	w.when[device] = time.Now().Add(after)
	return &turnedAway{status: http.StatusTooManyRequests, code: "too-many-requests", after: after}
}

func TestDevicesOfAStormObeyRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &window{t: t, left: 100, when: map[int]time.Time{}}
		refill := time.AfterFunc(time.Minute, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.left = 200
		})
		defer refill.Stop()
		s, err := newStorm("http", 300, w.ask).rage(t.Context(), &progress{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Tokens != 300 || s.TooMany < 200 || s.Requests != 300+s.TooMany || s.Errors+s.Broken+s.Unavailable > 0 {
			t.Errorf("the storm is %+v", s)
		}
		if s.Seconds < 60 || s.P50 < 60_000 || s.P99 < s.P50 || s.P99 > s.Seconds*1000 {
			t.Errorf("two of three devices wait longer than a minute, and the storm says %+v", s)
		}
	})
}

func TestStormNeverOpensMoreConnectionsThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newStorm("http", 2*stormConnections, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		}).rage(t.Context(), &progress{})
		if err != nil || s.Connections != stormConnections || s.Seconds != 2 || s.P50 != 1000 {
			t.Errorf("%v, %+v; half of the devices wait for a place, which is part of their time", err, s)
		}
	})
}

func TestStormThatDoesNotEndIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newStorm("http", 2, func(_ context.Context, device int) error {
			if device == 0 {
				return errors.New("connection refused")
			}
			return &turnedAway{status: http.StatusForbidden, code: "revoked"}
		}).rage(t.Context(), &progress{})
		if err == nil || errors.Is(err, errInterrupted) || s.Tokens != 0 || s.Broken == 0 || s.Errors == 0 || s.FirstError == "" {
			t.Errorf("%v, %+v", err, s)
		}
	})
}

func TestInterruptedStormSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		defer interrupt()
		s, err := newStorm("http", 10, func(ctx context.Context, device int) error {
			if device < 4 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}).rage(ctx, &progress{})
		if !errors.Is(err, errInterrupted) || s.Tokens != 4 || s.Broken+s.Errors > 0 {
			t.Errorf("%v, %+v", err, s)
		}
	})
}
