package model

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestCacheReadsAgainWhileItAnswers what may be twice as old, and answers with nothing older.
func TestCacheReadsAgainWhileItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[int](readTimeout)
		var reads atomic.Int64
		ask := func() (value int, took time.Duration) {
			began := time.Now()
			value, err := c.lately(t.Context(), "", time.Minute, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return int(reads.Add(1)), nil
			})
			if err != nil {
				t.Error(err)
			}
			return value, time.Since(began)
		}
		for _, step := range []struct {
			after time.Duration
			value int
			took  time.Duration
		}{
			{0, 1, time.Second}, {50 * time.Second, 1, 0}, {20 * time.Second, 1, 0}, {2 * time.Second, 2, 0},
			{3 * time.Minute, 3, time.Second},
		} {
			time.Sleep(step.after)
			if value, took := ask(); value != step.value || took != step.took {
				t.Errorf("%v later it answers %d after %v, want %+v", step.after, value, took, step)
			}
			if n := int(reads.Load()); n > step.value {
				t.Errorf("%d reads", n)
			}
		}
	})
}
