package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// steps lets a scheduler whose clock is off by so much do every slot of a length of time, with workers that finish all
// at once, and counts the masters by slot.
func (r *fakeRuns) steps(t *testing.T, s *Scheduler, off, length time.Duration, masters map[tables.Ticks]int) {
	t.Helper()
	for range int(length / s.Cadence) {
		_, _, err := s.step(t.Context(), slotAt(time.Now().Add(off), s.Cadence))
		must.Succeed(t, err)
		for _, slot := range r.work(t) {
			masters[slot]++
		}
		time.Sleep(s.Cadence)
	}
}

func TestSlotsThatAClockAheadHasTakenRunWhenTheirTimeComes(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRuns()
			s, masters := r.scheduler(), map[tables.Ticks]int{}
			r.steps(t, s, time.Hour, time.Hour, masters)
			if restarted {
				s = r.scheduler()
			}
			after := map[tables.Ticks]int{}
			other := r.scheduler()
			began := slotAt(time.Now(), s.Cadence)
			r.steps(t, s, 0, 30*time.Minute, after)
			for range 30 { // two side by side take each slot again once, not each from the other
				for i, one := range []*Scheduler{s, other, s} {
					slot, _, err := one.step(t.Context(), slotAt(time.Now(), s.Cadence))
					must.Succeed(t, err)
					if i > 0 && slot.Outcome != SlotTaken {
						t.Errorf("slot %v was %v after another scheduler had taken it again", slot.Run.Slot.Time(), slot.Outcome)
					}
				}
				for _, slot := range r.work(t) {
					after[slot]++
				}
				time.Sleep(s.Cadence)
			}
			silent, longest := time.Duration(0), time.Duration(0)
			for i := range 60 {
				slot := began.Add(time.Duration(i) * s.Cadence)
				switch after[slot] {
				case 0:
					silent += s.Cadence
				case 1:
					silent = 0
				default:
					t.Errorf("slot %v has %d masters", slot.Time(), after[slot])
				}
				longest = max(longest, silent)
			}
			if longest > ahead+s.Cadence {
				t.Errorf("no run for %v", longest)
			}
		})
	}
}

func TestARunOfNextYearHoldsBackNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns()
		s := r.scheduler()
		slot, _, err := s.step(t.Context(), slotAt(time.Now().Add(365*24*time.Hour), s.Cadence))
		must.Succeed(t, err)
		r.work(t)
		r.plan(slot.Run.Slot, 100, 99)
		r.queue.putText("a batch that is held up")
		for range 5 {
			if slot := once(t, s); slot.Outcome != SlotEnqueued {
				t.Errorf("slot %v was %v: %s", slot.Run.Slot.Time(), slot.Outcome, slot.Run.Skipped)
			}
			for i := range r.rows {
				if r.rows[i].Waits() {
					r.plan(r.rows[i].Slot, 1, 1)
				}
			}
			time.Sleep(s.Cadence)
		}
	})
}
