package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryClientWorksUntilTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measurement{parts: []string{"one", "two"}, clients: 3, length: 5 * time.Second}
		s := m.run(t.Context(), func(_ context.Context, _ int, lap func()) error {
			time.Sleep(10 * time.Millisecond)
			lap()
			time.Sleep(30 * time.Millisecond)
			lap()
			return nil
		})
		if s.elapsed != 5*time.Second {
			t.Errorf("it took %v", s.elapsed)
		}
		for i, want := range []float64{40_000, 10_000, 30_000} {
			h := s.latencies[i]
			if h.TotalCount() != 3*125 || !near(float64(h.ValueAtQuantile(50)), want) ||
				!near(float64(h.ValueAtQuantile(99)), want) {
				t.Errorf("part %d: %d operations, p50 %dµs, p99 %dµs; want 375 of %vµs",
					i, h.TotalCount(), h.ValueAtQuantile(50), h.ValueAtQuantile(99), want)
			}
		}
	})
}

func TestWarmUpIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := measurement{clients: 1, length: 5 * time.Second}
		s := m.run(t.Context(), func(context.Context, int, func()) error {
			time.Sleep(time.Second)
			if calls.Add(1) == 1 {
				return errors.New("cold")
			}
			return nil
		})
		if calls.Load() != 6 || s.latencies[0].TotalCount() != 5 || s.errors != 0 {
			t.Errorf("%d calls, %d counted, %d errors", calls.Load(), s.latencies[0].TotalCount(), s.errors)
		}
	})
}

func TestFailuresAreNotOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		m := measurement{clients: 2, length: time.Second}
		s := m.count(t.Context(), func(context.Context, int, func()) error { return refused })
		if s.latencies[0].TotalCount() != 0 || s.errors != 200 || s.firstError != refused {
			t.Errorf("%d operations, %d errors, first %v; want 0, one every 10 ms and client, and the cause",
				s.latencies[0].TotalCount(), s.errors, s.firstError)
		}
	})
}

func TestInterruptionIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		m := measurement{clients: 8, length: time.Hour}
		s := m.count(ctx, func(ctx context.Context, _ int, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if s.errors != 0 || s.elapsed != time.Minute {
			t.Errorf("%d errors after %v", s.errors, s.elapsed)
		}
	})
}
