// Package blob serves the REST protocol of the Blob service, for block blobs and
// append blobs.
//
// A blob has a record of its properties and a record of its blocks, which are
// replaced in one batch. An append blob has a record for each block, under the block's
// offset, so that an append costs the same however many there are. The blocks refer to
// contents. A reader takes a snapshot of the records and pins the contents, so it sees
// one version until it is done.
package blob

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/properties"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Service serves containers and blobs from a store and a directory.
type Service struct {
	// Backup writes a copy of the storage directory, as a tar archive.
	Backup func(ctx context.Context, w io.Writer) error
	// Inspect writes what the storage directory has and what is wrong with it, as JSON.
	Inspect func(ctx context.Context, w io.Writer) error

	store   *store.Store
	content *content.Keeper
	auth    *auth.Verifier
	own     *properties.Keeper
	locks   *store.Locks // by blob: a write holds one from its first read until Apply

	containers *containers
}

// New opens the service. It removes files that a crash left over, and blocks that
// were not committed within a week.
func New(s *store.Store, fs vfs.FS, dir, account string, key []byte) (*Service, error) {
	cs := &containers{all: map[string]*container{}, store: s}
	b := &Service{store: s, locks: store.NewLocks(), containers: cs}
	b.auth = &auth.Verifier{Account: account, Key: key, Policies: cs.policies}
	if err := cs.load(); err != nil {
		return nil, err
	}
	var err error
	if b.own, err = properties.Open(s, wire.Blob); err != nil {
		return nil, err
	}
	if b.content, err = content.Open(s, fs, dir); err != nil {
		return nil, b.blame(err)
	}
	cs.content = b.content
	return b, b.expire(time.Now())
}

// Hold keeps the files of all contents until release is called.
func (s *Service) Hold() (release func()) { return s.content.Hold() }

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) *wire.Handler {
	router := s.router()
	serve := func(w http.ResponseWriter, r *wire.Request) error {
		err := router.Serve(w, r)
		if cut, ok := errors.AsType[*cutError](err); ok {
			log.Error("answer cut off", "service", wire.Blob, "path", r.URL.Path, "request", r.ID, "err", cut.err)
			panic(http.ErrAbortHandler) // so that the client notices that the answer is incomplete
		}
		return err
	}
	return &wire.Handler{Service: wire.Blob, Account: s.auth.Account, Now: now, Log: log, CORS: s.own.Writer,
		Serve: serve}
}

var (
	errContainerNotFound = &wire.Error{Status: 404, Code: "ContainerNotFound",
		Message: "The specified container does not exist."}
	errContainerExists = &wire.Error{Status: 409, Code: "ContainerAlreadyExists",
		Message: "The specified container already exists."}
	errBlobNotFound = &wire.Error{Status: 404, Code: "BlobNotFound",
		Message: "The specified blob does not exist."}
	errBlobExists = &wire.Error{Status: 409, Code: "BlobAlreadyExists",
		Message: "The specified blob already exists."}
	errBlobType = &wire.Error{Status: 409, Code: "InvalidBlobType",
		Message: "The blob type is invalid for this operation."}
	errOverwrite = &wire.Error{Status: 403, Code: "UnauthorizedBlobOverwrite",
		Message: "This request is not authorized to perform blob overwrites."}
)
