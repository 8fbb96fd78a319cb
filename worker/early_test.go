package worker

import (
	"slices"
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
			for _, slot := range runs.work(t, 0) {
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
