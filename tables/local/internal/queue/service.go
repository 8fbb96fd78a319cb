// Package queue serves the Queue service's REST protocol.
package queue

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A Service serves queues out of a store.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
}

// New opens the service on what the store holds.
func New(s *store.Store, account string, key []byte) (*Service, error) {
	return &Service{store: s, auth: &auth.Verifier{Account: account, Key: key}}, nil
}

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) http.Handler {
	return &wire.Handler{Service: wire.Queue, Account: s.auth.Account, Now: now, Log: log, Serve: s.serve}
}

func (s *Service) serve(w http.ResponseWriter, r *wire.Request) error {
	return wire.NotImplemented("queues")
}

// Sweep removes expired messages from time to time, until ctx ends.
func (s *Service) Sweep(ctx context.Context, now func() time.Time, log *slog.Logger) {}
