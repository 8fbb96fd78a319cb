package jobstest

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
)

// A Line keeps the messages that jobs put, in their order.
type Line struct {
	mu     sync.Mutex
	Queue  []jobs.Message
	Delays []time.Duration
}

func (l *Line) Put(_ context.Context, m jobs.Message, delay time.Duration) error {
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

// Work does what was put, and what that puts, until nothing is left.
func (l *Line) Work(t *testing.T, p *jobs.Pipeline) (done int) {
	t.Helper()
	for len(l.Queue) > 0 {
		m := l.Queue[0]
		l.Queue, l.Delays = l.Queue[1:], l.Delays[1:]
		_, err := p.Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil })
		Must(t, err)
		if done++; done > 1000 {
			t.Fatal("there is no end of messages")
		}
	}
	return done
}

// NoPut takes messages and forgets them.
type NoPut struct{}

func (NoPut) Put(context.Context, jobs.Message, time.Duration) error { return nil }

// A Gate is a transport that stops at one operation.
type Gate struct {
	At   int
	Stop func(send func() (*http.Response, error)) (*http.Response, error)
	N    atomic.Int32
}

func (g *Gate) Do(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return http.DefaultClient.Do(r) }
	if int(g.N.Add(1))-1 == g.At {
		return g.Stop(send)
	}
	return send()
}
