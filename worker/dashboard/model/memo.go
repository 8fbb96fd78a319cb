package model

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A memo keeps values that are computed from the index: for maxAge, and for longer while the index does not change.
type memo[V any] struct {
	index  *index
	maxAge time.Duration

	mu   sync.Mutex
	kept *simplelru.LRU[string, memorized[V]]
}

type memorized[V any] struct {
	value   V
	at      time.Time
	version uint64
}

func newMemo[V any](x *index, size int, maxAge time.Duration) *memo[V] {
	kept, _ := simplelru.NewLRU[string, memorized[V]](size, nil) // fails only for a size below 1
	return &memo[V]{index: x, maxAge: maxAge, kept: kept}
}

func (m *memo[V]) get(key string, compute func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	version := m.index.current()
	k, ok := m.kept.Get(key)
	if !ok || k.version != version && time.Since(k.at) >= m.maxAge {
		k = memorized[V]{compute(), time.Now(), version}
		m.kept.Add(key, k)
	}
	return k.value
}

func (m *memo[V]) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Remove(key)
}

func (x *index) current() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.version
}
