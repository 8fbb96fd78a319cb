package model

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoLooksAmidTheFirstRoundSeesWhatIsKnownNow has a storage that is slow to answer.
func TestWhoLooksAmidTheFirstRoundSeesWhatIsKnownNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		m, _, err := s.Map(t.Context(), MapQuery{})
		if err != nil || !m.At.Equal(time.Now().UTC()) {
			t.Errorf("a map of %v, %v", m.At, err)
		}
		s.watch.ended(nil)
		done := time.Now()
		time.Sleep(time.Second)
		if m, _, err = s.Map(t.Context(), MapQuery{}); err != nil || !m.At.Equal(done.UTC()) {
			t.Errorf("after a round, a map of %v, %v", m.At, err)
		}
	})
}
