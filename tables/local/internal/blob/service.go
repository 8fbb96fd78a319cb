// Package blob serves the Blob service's REST protocol, for block blobs.
//
// A blob is a record of its properties and a record of its blocks, replaced
// together in one batch; the blocks refer to contents. A reader takes both, and
// holds the contents, at one moment: it sees one version, whatever happens
// until it is done.
package blob

import (
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Service serves containers and block blobs out of a store, and their bytes
// out of files.
type Service struct {
	store   *store.Store
	content *content.Keeper
	auth    *auth.Verifier
	locks   *store.Locks // by blob: a write reads and applies under one

	// schema guards containers. Writers of blobs hold it for reading until they
	// have applied, so that no blob outlives its container.
	schema     sync.RWMutex
	containers map[string]*container
}

// New opens the service on what the store and the directory hold. It removes
// files that a crash left, and blocks that nobody committed within a week.
func New(s *store.Store, fs vfs.FS, dir, account string, key []byte) (*Service, error) {
	b := &Service{store: s, locks: store.NewLocks(), containers: map[string]*container{}}
	b.auth = &auth.Verifier{Account: account, Key: key, Policies: b.policies}
	if err := b.load(); err != nil {
		return nil, err
	}
	var err error
	if b.content, err = content.Open(s, fs, dir); err != nil {
		return nil, b.blame(err)
	}
	return b, b.expire(time.Now())
}

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) http.Handler {
	router := s.router()
	serve := func(w http.ResponseWriter, r *wire.Request) error {
		err := router.Serve(w, r)
		if cut, ok := errors.AsType[*cutError](err); ok {
			log.Error("answer cut off", "service", wire.Blob, "path", r.URL.Path, "request", r.ID, "err", cut.err)
			panic(http.ErrAbortHandler) // so that the client does not take what it has for the whole
		}
		return err
	}
	return &wire.Handler{Service: wire.Blob, Account: s.auth.Account, Now: now, Log: log, Serve: serve}
}

var (
	errContainerNotFound = &wire.Error{Status: 404, Code: "ContainerNotFound", Message: "The specified container does not exist."}
	errContainerExists   = &wire.Error{Status: 409, Code: "ContainerAlreadyExists", Message: "The specified container already exists."}
	errBlobNotFound      = &wire.Error{Status: 404, Code: "BlobNotFound", Message: "The specified blob does not exist."}
	errBlobExists        = &wire.Error{Status: 409, Code: "BlobAlreadyExists", Message: "The specified blob already exists."}
	errOverwrite         = &wire.Error{Status: 403, Code: "UnauthorizedBlobOverwrite", Message: "This request is not authorized to perform blob overwrites."}
)
