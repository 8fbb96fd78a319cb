package worker

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFirstDeviceNeedNotWaitForTheNextSlot: a token asks for one run between slots, after rows have settled.
func TestAFirstDeviceNeedNotWaitForTheNextSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := newRuns()
		s := runs.scheduler()
		s.Early, s.Settle = &Early{}, 10*time.Second
		stop := start(t, t.Context(), s)
		began := time.Now()
		var after []time.Duration
		for second := range 200 {
			switch second {
			case 5, 6, 30: // one run for all of them
				s.Early.Ask()
			case 110: // the next slot is too early for its rows
				s.Early.Ask()
			}
			time.Sleep(time.Second)
			for _, slot := range runs.work(t) {
				after = append(after, slot.Time().Sub(began))
			}
		}
		stop()
		want := []time.Duration{0, 17 * time.Second, time.Minute, 2 * time.Minute, 122 * time.Second, 3 * time.Minute}
		if !slices.Equal(after, want) {
			t.Errorf("runs at %v; want %v", after, want)
		}
	})
}

// TestASlotIsNotSleptThrough has the clock of the machine go ahead by half an hour, as after it was suspended, and back
// again: the next slot is put within a second or two, and none waits for the clock to come again.
func TestASlotIsNotSleptThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := newRuns()
		s := runs.scheduler()
		var off atomic.Int64
		s.Now = func() time.Time { return time.Now().Add(time.Duration(off.Load())) }
		s.Early = &Early{}
		stop := start(t, t.Context(), s)
		defer stop()
		time.Sleep(10 * time.Second)
		if n := len(runs.work(t)); n != 1 {
			t.Fatalf("%d runs", n)
		}
		off.Store(int64(30 * time.Minute))
		time.Sleep(2 * time.Second)
		if n := len(runs.work(t)); n != 1 {
			t.Errorf("%d runs when the clock has gone ahead", n)
		}
		off.Store(0)
		time.Sleep(2 * s.Cadence)
		if n := len(runs.work(t)); n == 0 {
			t.Error("no run in two cadences after the clock was set back")
		}
	})
}
