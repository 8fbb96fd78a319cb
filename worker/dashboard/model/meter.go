package model

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"furrow/tables"
	"furrow/worker"
)

// A meter counts storage operations. The zero meter is ready.
type meter struct {
	n      atomic.Int64
	parent *meter // counts the same operations

	mu      sync.Mutex
	seconds [60]struct {
		at int64
		n  int
	}
}

type meterKey struct{}

// metered returns a context with a meter of its own; the meters of ctx count its operations too.
func metered(ctx context.Context) (context.Context, *meter) {
	parent, _ := ctx.Value(meterKey{}).(*meter)
	m := &meter{parent: parent}
	return within(ctx, m), m
}

func within(ctx context.Context, m *meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

func (m *meter) operations() int { return int(m.n.Load()) }

// CountTable is the OnOperation of a Store's tables.Client.
func CountTable(ctx context.Context, _ tables.Operation) { count(ctx) }

// CountQueue is the OnOperation of a Store's worker.Client.
func CountQueue(ctx context.Context, _ worker.Operation) { count(ctx) }

func count(ctx context.Context) {
	m, _ := ctx.Value(meterKey{}).(*meter)
	for ; m != nil; m = m.parent {
		m.n.Add(1)
		if m.parent == nil {
			m.tick(time.Now())
		}
	}
}

func (m *meter) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	second := &m.seconds[now.Unix()%60]
	if second.at != now.Unix() {
		second.at, second.n = now.Unix(), 0
	}
	second.n++
}

func (m *meter) perMinute(now time.Time) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seconds {
		if s.at > now.Unix()-60 {
			n += s.n
		}
	}
	return n
}

// counted returns a context whose operations the store counts.
func (s *Store) counted(ctx context.Context) context.Context {
	if _, already := ctx.Value(meterKey{}).(*meter); already {
		return ctx
	}
	return within(ctx, &s.meter)
}
