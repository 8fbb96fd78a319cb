// Package queue serves the Queue service's REST protocol.
//
// A queue's messages stand in an index by the time at which they are visible,
// then in the order in which they came. An operation holds its queue's lock
// while it reads and applies, and not while it waits for the disk, so that many
// operations on one queue share a flush. Every answer is sent after that wait.
package queue

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A Service serves queues out of a store.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
	now   func() time.Time
	clock clock

	// mu guards queues, and orders their creation and deletion. Who needs a
	// queue's lock too takes it second.
	mu     sync.RWMutex
	queues map[string]*queue
}

// New opens the service on what the store holds. It takes the time from now.
func New(s *store.Store, account string, key []byte, now func() time.Time) (*Service, error) {
	q := &Service{store: s, now: now, queues: map[string]*queue{}}
	q.auth = &auth.Verifier{Account: account, Key: key, Policies: q.policies}
	return q, q.load()
}

// Handler serves the service over HTTP.
func (s *Service) Handler(log *slog.Logger) http.Handler {
	return &wire.Handler{Service: wire.Queue, Account: s.auth.Account, Now: s.now, Log: log, Serve: s.router().Serve}
}

// find gives a queue by its name.
func (s *Service) find(name string) (*queue, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if q, ok := s.queues[name]; ok {
		return q, nil
	}
	return nil, errQueueNotFound
}

// with runs f alone on a queue, and returns when what f saw and did is on disk:
// refusals too, since "there is no such message" tells a client that repeats
// itself that its first try was accepted. A nil wait means that f did nothing.
func (s *Service) with(name string, f func(*queue) (wait func() error, err error)) error {
	wait, err := s.alone(name, f)
	if wait == nil {
		wait = s.store.Barrier
	}
	if waitErr := wait(); waitErr != nil {
		return waitErr
	}
	return err
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

// policies gives a queue's stored access policies to the verifier.
func (s *Service) policies(_ wire.Service, name string) ([]auth.Policy, error) {
	q, err := s.find(name)
	if err != nil {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.record.Policies, nil
}
