package store

import (
	"sync/atomic"
	"time"
)

// TicksPerSecond is the number of .NET ticks per second: a tick is 100 ns.
const TicksPerSecond = 10_000_000

// epoch is 1970-01-01 in ticks since 0001-01-01.
const epoch = 621_355_968_000_000_000

// A Clock returns times that never repeat, in ticks since 0001-01-01 UTC: ETags are
// made of them. The zero Clock is ready for use.
type Clock struct{ last atomic.Int64 }

// Tick returns a time later than all it returned before, and later than after.
func (c *Clock) Tick(now time.Time, after int64) int64 {
	for {
		last := c.last.Load()
		next := max(ToTicks(now), last+1, after+1)
		if c.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// ToTicks returns t in ticks.
func ToTicks(t time.Time) int64 {
	return t.Unix()*TicksPerSecond + int64(t.Nanosecond())/100 + epoch
}

// FromTicks returns the time of ticks, in UTC.
func FromTicks(ticks int64) time.Time {
	ticks -= epoch
	sec, rest := ticks/TicksPerSecond, ticks%TicksPerSecond
	return time.Unix(sec, rest*100).UTC()
}
