package jobstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables/azuretest/must"
)

// A Line keeps the messages that jobs put, in their order.
type Line struct {
	mu     sync.Mutex
	Queue  []jobs.Message
	Delays []time.Duration
}

// Put fails with messages that no queue would take.
func (l *Line) Put(_ context.Context, m jobs.Message, delay time.Duration) error {
	if _, err := m.Encode(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Queue, l.Delays = append(l.Queue, m), append(l.Delays, delay)
	return nil
}

// Take takes the first message from the line.
func (l *Line) Take() (m jobs.Message, delay time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.Queue) == 0 {
		return m, 0, false
	}
	m, delay = l.Queue[0], l.Delays[0]
	l.Queue, l.Delays = l.Queue[1:], l.Delays[1:]
	return m, delay, true
}

// Work does the jobs of all messages, and of those that they put, and returns their number.
func (l *Line) Work(t testing.TB, p *jobs.Pipeline) (done int) {
	t.Helper()
	for ; ; done++ {
		m, _, ok := l.Take()
		if !ok {
			return done
		}
		if r := Do(t, p, m, l); len(r.Failed) > 0 || done > 1000 {
			t.Fatalf("job %d fails or never ends: %+v", done, r)
		}
	}
}

// Work does the job of a message, and of those that follow, and returns their number.
func Work(t testing.TB, p *jobs.Pipeline, m jobs.Message) int {
	t.Helper()
	return (&Line{Queue: []jobs.Message{m}, Delays: []time.Duration{0}}).Work(t, p)
}

// Do does one job, which must succeed.
func Do(t testing.TB, p *jobs.Pipeline, m jobs.Message, put jobs.Putter) jobs.Result {
	t.Helper()
	r := must.Have(p.Do(t.Context(), m, put, func(context.Context, jobs.Message) error { return nil }))(t)
	return r
}

// NoPut takes messages and forgets them.
type NoPut struct{}

func (NoPut) Put(context.Context, jobs.Message, time.Duration) error { return nil }
