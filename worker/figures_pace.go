package worker

import (
	"cmp"
	"context"
	"time"
)

// Figures are written at most once in brief after the end of a job, and as soon as a burst of ends is over.
const (
	brief = time.Second
	burst = 100 * time.Millisecond
)

// soon has the figures written soon, because the next slot depends on them.
func (f *Figures) soon() { poke(f.hurry()) }

func (f *Figures) hurry() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.urgent == nil {
		f.urgent = make(chan struct{}, 1)
	}
	return f.urgent
}

// awaitFlush waits until the figures are to be written.
func (f *Figures) awaitFlush(ctx context.Context) {
	every, urgent := cmp.Or(f.Every, 5*time.Second), f.hurry()
	first := min(brief-burst, every)
	sleep(ctx, first)
	if !received(ctx, urgent, every-first) {
		return
	}
	for end := time.Now().Add(brief); time.Until(end) > 0 && received(ctx, urgent, burst); {
	}
}
