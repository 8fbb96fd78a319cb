package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A measurement is many clients doing one operation over and over.
type measurement struct {
	parts   []string
	clients int
	length  time.Duration
	tick    func(time.Duration) // told how much more time has passed
}

// A sample is what one measurement found. The first latencies are those of the
// whole operation, the others those of its parts.
type sample struct {
	elapsed    time.Duration // until the last client was done
	latencies  []*hdrhistogram.Histogram
	errors     int64
	firstError error
}

// warmUp is how long the clients work before anything is counted, at most: it
// opens connections and fills caches.
const warmUp = time.Second

func (m measurement) run(ctx context.Context, do operation) sample {
	warm := m
	warm.length, warm.tick = min(warmUp, m.length/5), func(time.Duration) {}
	warm.count(ctx, do)
	return m.count(ctx, do)
}

func (m measurement) count(ctx context.Context, do operation) sample {
	started := time.Now()
	found := make([]sample, m.clients)
	var working sync.WaitGroup
	for i := range found {
		working.Go(func() { found[i] = m.client(ctx, i, started.Add(m.length), do) })
	}
	done := make(chan struct{})
	go func() { working.Wait(); close(done) }()
	watch(done, m.length, m.tick)

	all := newSample(len(m.parts))
	all.elapsed = time.Since(started)
	for _, s := range found {
		all.merge(s)
	}
	return all
}

// client repeats the operation until the deadline; the one under way then is
// finished and counted.
func (m measurement) client(ctx context.Context, i int, deadline time.Time, do operation) sample {
	s := newSample(len(m.parts))
	laps := make([]time.Duration, 0, len(m.parts))
	for {
		start := time.Now()
		if !start.Before(deadline) || ctx.Err() != nil {
			return s
		}
		laps = laps[:0]
		last := start
		err := do(ctx, i, func() {
			now := time.Now()
			laps = append(laps, now.Sub(last))
			last = now
		})
		switch {
		case err == nil:
			s.record(time.Since(start), laps)
		case ctx.Err() != nil: // stopped, not failed
		default:
			s.errors++
			if s.firstError == nil {
				s.firstError = err
			}
			pause(ctx) // an endpoint that refuses at once must not be flooded
		}
	}
}

// pause waits a little, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}

// watch calls tick while work goes on, in all with no more than length.
func watch(done <-chan struct{}, length time.Duration, tick func(time.Duration)) {
	const every = 100 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			tick(length)
			return
		case <-ticker.C:
			step := min(every, length)
			length -= step
			tick(step)
		}
	}
}

func newSample(parts int) sample {
	s := sample{latencies: make([]*hdrhistogram.Histogram, 1+parts)}
	for i := range s.latencies {
		s.latencies[i] = hdrhistogram.New(1, (2 * time.Minute).Microseconds(), 3)
	}
	return s
}

func (s *sample) record(whole time.Duration, laps []time.Duration) {
	for i, d := range append([]time.Duration{whole}, laps...) {
		// Beyond the histogram's end, what is known is that it was longer.
		d = max(time.Microsecond, min(d, 2*time.Minute))
		if err := s.latencies[i].RecordValue(d.Microseconds()); err != nil {
			panic(fmt.Sprintf("a latency of %v does not fit the histogram: %v", d, err))
		}
	}
}

func (s *sample) merge(other sample) {
	for i, h := range other.latencies {
		s.latencies[i].Merge(h)
	}
	s.errors += other.errors
	if s.firstError == nil {
		s.firstError = other.firstError
	}
}
