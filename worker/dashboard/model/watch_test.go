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
		m, err := s.Map(t.Context(), MapAsk{})
		if err != nil || !m.At.Equal(time.Now().UTC()) {
			t.Errorf("a map of %v, %v", m.At, err)
		}
		s.watched.ended(nil)
		done := time.Now()
		time.Sleep(time.Second)
		if m, err = s.Map(t.Context(), MapAsk{}); err != nil || !m.At.Equal(done.UTC()) {
			t.Errorf("after a round, a map of %v, %v", m.At, err)
		}
	})
}
