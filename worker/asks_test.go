package worker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAPoolIsEmptyWhereItHasLookedSince: whoever asks while an answer is under way gets that of the next look.
func TestAPoolIsEmptyWhereItHasLookedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		catchup := batch("contoso:a")
		catchup.Mark = "m"
		var slow atomic.Int64 // how long an answer takes
		var broken atomic.Bool
		q.after = func(op string) error {
			if strings.HasSuffix(op, "get") {
				time.Sleep(time.Duration(slow.Load()))
				if broken.Load() {
					return errors.New("busy")
				}
			}
			return nil
		}
		p := &Pool{Source: q, Log: quiet(), Work: lasting(2 * time.Minute)} // longer than a look that is under way
		stop := start(t, t.Context(), p)
		defer stop()
		want := func(when string, want bool) {
			t.Helper()
			if got := p.Empty(t.Context()); got != want {
				t.Errorf("%s: %t", when, got)
			}
		}
		want("nothing was ever there", true)

		slow.Store(int64(time.Minute))
		time.Sleep(2 * time.Minute)
		q.fill(t, monthJob()) // while the answer of a look is under way, which is empty
		want("a message came during a look", false)
		slow.Store(0)
		want("it has a job", false)
		time.Sleep(3 * time.Minute)
		want("the job has ended", true)

		broken.Store(true)
		want("the queue cannot be read", false)
		broken.Store(false)
		want("it can again", true)

		q.fill(t, catchup)
		want("there is a message of catch-up work", false)
	})
}

// TestAPoolThatHasEndedIsEmpty, whoever asks, and whenever.
func TestAPoolThatHasEndedIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{Source: &fakeQueue{}, Log: quiet(), Work: nothing}
		stop := start(t, t.Context(), p)
		time.Sleep(time.Second)
		asked := make(chan bool)
		go func() { stop(); asked <- p.Empty(context.Background()) }()
		if !<-asked {
			t.Error("it is not empty")
		}
	})
}
