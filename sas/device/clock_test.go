package device

import (
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
)

// The server's time turns out to be a little earlier than an answer said that
// came late: readings stay in order. Another time altogether is followed.
func TestCorrectionOfTheTimeKeepsReadingsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now)
		noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
		c.learn(noon, 0, 0)
		at := func() time.Time { return tables.Ticks(c.stamp(time.Time{}).at).Time() }
		if got := at(); !got.Equal(noon) {
			t.Errorf("%s", got)
		}
		c.learn(noon.Add(-10*time.Second), 0, 0)
		time.Sleep(time.Second)
		if got := at(); !got.Equal(noon) {
			t.Errorf("%s", got)
		}
		time.Sleep(10 * time.Second)
		if got := at(); !got.Equal(noon.Add(time.Second)) {
			t.Errorf("%s", got)
		}
		c.learn(noon.Add(-time.Hour), c.since(), c.since())
		if got := at(); !got.Equal(noon.Add(-time.Hour)) {
			t.Errorf("%s", got)
		}
	})
}

func TestTimesOfTheCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now)
		sampled := time.Now()
		foreign := time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
		time.Sleep(time.Minute)
		if got := c.stamp(sampled); got.timed || got.at != 0 {
			t.Errorf("%+v", got)
		}
		noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
		c.learn(noon, c.since(), c.since())
		for _, one := range []struct{ given, want time.Time }{{sampled, noon.Add(-time.Minute)}, {foreign, foreign}, {time.Time{}, noon}} {
			if got := c.stamp(one.given); !got.timed || !tables.Ticks(got.at).Time().Equal(one.want) {
				t.Errorf("%s is stamped %s, want %s", one.given, tables.Ticks(got.at).Time(), one.want)
			}
		}
	})
}
