package device

import (
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
)

// After a small backward correction of the server's time, readings stay in order. A large one
// is followed at once.
func TestCorrectionOfTheTimeKeepsReadingsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(time.Now)
		noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
		c.learn(noon, 0, 0)
		at := func() time.Time { return tables.Ticks(c.stamp(time.Time{}).At).Time() }
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

// Times in a synctest bubble have no monotonic clock reading, so this test runs outside.
func TestReadingsWithTheirOwnTime(t *testing.T) {
	c := newClock(time.Now)
	sampled := c.start.Add(-time.Minute)
	if got := c.stamp(sampled); got.Timed || got.At != -int64(time.Minute) {
		t.Errorf("%+v", got)
	}
	noon := time.Date(2036, time.November, 21, 12, 0, 0, 0, time.UTC)
	c.learn(noon, 0, 0)
	foreign := noon.Add(-24 * time.Hour)
	for _, one := range []struct{ given, want time.Time }{{sampled, noon.Add(-time.Minute)}, {foreign, foreign},
		{time.Time{}, noon}} {
		got := c.stamp(one.given)
		late := tables.Ticks(got.At).Time().Sub(one.want)
		if !got.Timed || late < 0 || late > 30*time.Second || late > 0 && !one.given.IsZero() {
			t.Errorf("%s is stamped late by %s", one.given, late)
		}
	}
}
