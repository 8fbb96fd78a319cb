// Package queue serves the REST protocol of the Queue service.
//
// The messages of a queue are in an index, by the time at which they become visible,
// then in the order of arrival. An operation holds its queue's lock while it reads
// and applies, but not while it waits for the disk, so that many operations on one
// queue share a flush. Every answer is sent after that wait.
package queue

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/properties"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A Service serves queues from a store.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
	own   *properties.Keeper
	now   func() time.Time
	clock clock

	// mu guards queues and orders their creation and deletion. It is locked before the
	// lock of a queue.
	mu     sync.RWMutex
	queues map[string]*queue
}

// New opens the service on a store. It takes the time from now.
func New(s *store.Store, account string, key []byte, now func() time.Time) (*Service, error) {
	q := &Service{store: s, now: now, queues: map[string]*queue{}}
	q.auth = &auth.Verifier{Account: account, Key: key, Policies: q.policies}
	var err error
	if q.own, err = properties.Open(s, wire.Queue); err != nil {
		return nil, err
	}
	return q, q.load()
}

// Handler serves the service over HTTP.
func (s *Service) Handler(log *slog.Logger) *wire.Handler {
	return &wire.Handler{Service: wire.Queue, Account: s.auth.Account, Now: s.now, Log: log, CORS: s.own.Writer,
		Serve: s.router().Serve}
}

// find returns the queue with a name.
func (s *Service) find(name string) (*queue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q, ok := s.queues[name]; ok {
		return q, nil
	}
	return nil, errQueueNotFound
}

// with runs f with a queue's lock, and returns when everything that f read and wrote
// is on disk. This includes refusals: "there is no such message" tells a client that
// repeats a request that the first one was done. A nil wait means that f wrote nothing.
func (s *Service) with(name string, f func(*queue) (wait func() error, err error)) error {
	wait, err := s.alone(name, f)
	if wait == nil {
		wait = s.store.Barrier
	}
	return cmp.Or(wait(), err)
}

func (s *Service) alone(name string, f func(*queue) (func() error, error)) (func() error, error) {
	q, err := s.find(name)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone {
		return nil, errQueueNotFound
	}
	return f(q)
}

// policies returns a queue's stored access policies, for the verifier.
func (s *Service) policies(name string) []auth.Policy {
	q, err := s.find(name)
	if err != nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.record.Policies
}
