package worker

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// The limit is halved after a span in which more than a tenth of the answers, and more than a few, said that storage is
// busy. Within recovery it grows back to the full number.
const (
	span     = time.Second
	few      = 3
	tenth    = 10
	recovery = 30 * time.Second
)

// A limit is how many jobs may be in flight: normally the full number, halved while storage is busy, and growing back
// evenly. It follows the share of busy answers, because one busy partition among many is no reason to do less for the
// others.
type limit struct {
	mu   sync.Mutex
	full int
	low  int       // the number it was halved to
	at   time.Time // when it was halved; zero if never

	since         time.Time // when the span began; zero if none has
	answers, busy int       // in this span
}

// fill sets the full number.
func (l *limit) fill(full int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = full
}

// now returns the current limit, between 1 and full.
func (l *limit) now() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := time.Now()
	l.judge(t)
	return l.then(t)
}

func (l *limit) then(t time.Time) int {
	since := t.Sub(l.at)
	if l.at.IsZero() || since >= recovery {
		return l.full
	}
	return l.low + int(int64(l.full-l.low)*int64(since)/int64(recovery))
}

// answered counts an answer from storage.
func (l *limit) answered(busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := time.Now()
	l.judge(t)
	if l.since.IsZero() {
		l.since = t
	}
	l.answers++
	if busy {
		l.busy++
	}
}

// judge ends the span if its time is over.
func (l *limit) judge(t time.Time) {
	end := l.since.Add(span)
	if l.since.IsZero() || t.Before(end) {
		return
	}
	if l.busy > few && l.busy*tenth > l.answers {
		l.low, l.at = max(1, l.then(end)/2), end
	}
	l.since, l.answers, l.busy = time.Time{}, 0, 0
}

type poolKey struct{}

// Answered reports the status of an answer to the pool in whose context the operation was done. Call it from
// OnOperation of every client that the jobs of a pool use, also for answers that a client then retries. Outside a
// pool's context and without an answer (status 0) it does nothing.
func Answered(ctx context.Context, status int) {
	if p, ok := ctx.Value(poolKey{}).(*Pool); ok && status != 0 {
		p.limit.answered(status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests ||
			status == http.StatusInternalServerError)
	}
}
