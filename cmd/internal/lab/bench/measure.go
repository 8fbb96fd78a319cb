package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A measurement is many clients that repeat one operation.
type measurement struct {
	parts   []string
	clients int
	length  time.Duration
}

// A sample is the result of one measurement. The first latencies are those of the
// whole operation, the others those of its parts.
type sample struct {
	elapsed    time.Duration // until the last client was done
	latencies  []*hdrhistogram.Histogram
	errors     int64
	firstError error
}

// warmUp is how long clients work at most before anything is counted: it opens
// connections and fills caches.
const warmUp = time.Second

// errorPause keeps clients from flooding an endpoint that refuses at once.
const errorPause = 10 * time.Millisecond

func (m measurement) run(ctx context.Context, do operation) sample {
	warm := m
	warm.length = min(warmUp, m.length/5)
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
	working.Wait()
	all := newSample(len(m.parts))
	all.elapsed = time.Since(started)
	for _, s := range found {
		all.merge(s)
	}
	return all
}

// client repeats the operation until the deadline. An operation that is running
// then is finished and counted.
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
			select {
			case <-ctx.Done():
			case <-time.After(errorPause):
			}
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
		// A latency beyond the end of the histogram is recorded as its end.
		d = max(time.Microsecond, min(d, 2*time.Minute))
		if err := s.latencies[i].RecordValue(d.Microseconds()); err != nil {
			panic(fmt.Sprintf("latency %v is out of the histogram's range: %v", d, err))
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
