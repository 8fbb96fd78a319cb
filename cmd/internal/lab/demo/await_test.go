package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A blankScreen counts calls of Wait.
type blankScreen struct{ waits int }

func (*blankScreen) Stage(string, int64)   {}
func (*blankScreen) Progress(int64, int64) {}
func (*blankScreen) Say(string)            {}
func (s *blankScreen) Wait(string)         { s.waits++ }

func TestWaitLastsWhileThereIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, screen := time.Now(), &blankScreen{}
		err := await(t.Context(), screen, time.Second, func(context.Context) (waitState, error) {
			since := time.Since(began)
			return waitState{done: since > 24*time.Hour, progress: int64(since / (4 * time.Minute)), left: "rows"}, nil
		})
		if err != nil || time.Since(began) < 24*time.Hour {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if screen.waits < 24*3600 {
			t.Errorf("the screen was told %d times in a day", screen.waits)
		}
	})
}

func TestWaitNamesWhatMakesNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := await(t.Context(), &blankScreen{}, time.Second, func(context.Context) (waitState, error) {
			since := time.Since(began)
			return waitState{progress: min(int64(since/time.Second), 60) - int64(since/time.Second)%2,
				left: "2 devices of 50, such as pump-7"}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "2 devices of 50, such as pump-7") {
			t.Errorf("it says %v", err)
		}
		if took := time.Since(began); took < standstill || took > standstill+2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		interrupted := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(interrupted) })
		err := await(ctx, &blankScreen{}, time.Second, func(context.Context) (waitState, error) { return waitState{}, nil })
		if !errors.Is(err, interrupted) {
			t.Errorf("it says %v", err)
		}
	})
}
