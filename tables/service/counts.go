package service

import "sync/atomic"

// Counts counts operations by kind. The zero value is ready for use, and safe for
// concurrent use.
type Counts[K ~uint8] struct {
	counts [maxKinds]atomic.Int64
}

const maxKinds = 32

// Add counts one operation.
func (c *Counts[K]) Add(k K) { c.counts[k].Add(1) }

// Map returns the counts of the kinds that have occurred.
func (c *Counts[K]) Map() map[K]int64 {
	counts := map[K]int64{}
	for k := range c.counts {
		if n := c.counts[k].Load(); n > 0 {
			counts[K(k)] = n
		}
	}
	return counts
}
