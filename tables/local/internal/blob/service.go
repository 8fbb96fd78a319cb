// Package blob serves the Blob service's REST protocol, for block blobs.
package blob

import (
	"log/slog"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Service serves containers and block blobs out of a store, and their bytes
// out of files.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
}

// New opens the service on what the store and the directory hold.
func New(s *store.Store, fs vfs.FS, dir, account string, key []byte) (*Service, error) {
	return &Service{store: s, auth: &auth.Verifier{Account: account, Key: key}}, nil
}

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) http.Handler {
	return &wire.Handler{Service: wire.Blob, Account: s.auth.Account, Now: now, Log: log, Serve: s.serve}
}

func (s *Service) serve(w http.ResponseWriter, r *wire.Request) error {
	return wire.NotImplemented("blobs")
}
