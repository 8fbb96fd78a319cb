package worker

import (
	"sync"
	"time"
)

// How a ceiling moves: within recovery it is back at the full number; those
// that were refused within one spell were refused by one thing.
const (
	recovery = 30 * time.Second
	spell    = time.Second
)

// A ceiling is how many jobs may be in flight: full as a rule, halved when
// storage is busy, and growing back evenly.
type ceiling struct {
	mu   sync.Mutex
	full int
	low  int       // what it was halved to
	at   time.Time // when; zero if never
}

// fill sets the full number.
func (c *ceiling) fill(full int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = full
}

// now is the ceiling at this moment, between 1 and full.
func (c *ceiling) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.then(time.Now())
}

func (c *ceiling) then(t time.Time) int {
	since := t.Sub(c.at)
	if c.at.IsZero() || since >= recovery {
		return c.full
	}
	return c.low + int(int64(c.full-c.low)*int64(since)/int64(recovery))
}

// halve is told that storage is busy.
func (c *ceiling) halve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.at.IsZero() && now.Sub(c.at) < spell {
		return
	}
	c.low, c.at = max(1, c.then(now)/2), now
}
