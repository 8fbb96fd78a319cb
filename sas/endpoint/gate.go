package endpoint

import (
	"context"
	"sync"
	"time"
)

// A gate lets so many requests use storage at a time as it has places: each holds
// memory and a connection, and storage that is slow makes them pile up.
type gate struct {
	places chan struct{}

	mu   sync.Mutex
	mean time.Duration // that a place is held, of late
	line line
}

// patience is how long a request waits for a place.
const patience = 2 * time.Second

// enter takes a place. It says when to come back where none gets free soon.
func (g *gate) enter(ctx context.Context) (leave func(), wait time.Duration) {
	select {
	case g.places <- struct{}{}:
	default:
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case g.places <- struct{}{}:
		case <-ctx.Done():
			return nil, g.turnAway()
		}
	}
	began := time.Now()
	return func() { g.leave(time.Since(began)) }, 0
}

// weight of one request in the mean: the last few hundred count.
const weight = 64

func (g *gate) leave(held time.Duration) {
	<-g.places
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mean += (held - g.mean) / weight
}

// turnAway says when to come back: as many are asked to at a time as storage has
// worked off lately.
func (g *gate) turnAway() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.line.join(time.Now(), time.Second, g.mean/time.Duration(cap(g.places)))
}
