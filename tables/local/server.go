package local

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"furrow/tables/local/internal/blob"
	"furrow/tables/local/internal/queue"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/table"
	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DefaultAccount is the account's name unless Config names another.
const DefaultAccount = "furrow"

// FullHeader is a header of all answers while new data is refused because the disk is full.
const FullHeader = wire.FullHeader

// ErrInUse is returned by Open for a directory that another process has open.
var ErrInUse = store.ErrInUse

// Config configures a Server.
type Config struct {
	Dir     string       // created if it does not exist
	Account string       // zero: DefaultAccount
	Key     []byte       // zero: the one stored in Dir, created on first use
	Log     *slog.Logger // zero: nothing is logged
	Cache   int64        // bytes of tables that stay in memory; zero: 24 MiB, for a process that does other things, too
	Memory  bool         // nothing but the key and the format is in Dir, and the rest is gone with Close: for tests

	// Now is the time, by which tokens, leases and messages end. Zero: time.Now. A test sets it to let time pass.
	Now func() time.Time

	// AzureLimits has every request, also with the account key, refused beyond Azure's targets per second.
	AzureLimits bool

	// OnAnswer is told of every answered request: the service (table, queue or blob), and the HTTP status, which is 200
	// for every success. It may be nil.
	OnAnswer func(service string, status int)
}

// A Server serves one storage account from an open directory.
type Server struct {
	config Config
	fs     vfs.FS // of the data
	store  *store.Store
	bodies *wire.Bodies
	limits *wire.Limits // may be nil
	table  *table.Service
	queue  *queue.Service
	blob   *blob.Service
}

// accountName is Azure's rule for storage accounts.
var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Open opens a directory. It returns ErrInUse if another process has it open, and
// ErrNewer, without changing anything, if its format is newer than Format.
func Open(c Config) (*Server, error) {
	if c.Memory {
		return openOn(vfs.NewMem(), c)
	}
	s, err := openOn(&private{FS: vfs.Default, dir: c.Dir}, c)
	if err != nil {
		return nil, err
	}
	if err := restrictAll(filepath.Join(c.Dir, "db")); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openOn(fs vfs.FS, c Config) (*Server, error) {
	if c.Account == "" {
		c.Account = DefaultAccount
	}
	if !accountName.MatchString(c.Account) {
		return nil, fmt.Errorf("account name %q: it must have 3 to 24 lower-case letters and digits", c.Account)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := makeDir(c.Dir); err != nil {
		return nil, err
	}
	if p, ok := fs.(*private); ok {
		var err error
		if p.was, err = os.Stat(c.Dir); err != nil {
			return nil, err
		}
	}
	s := &Server{config: c, fs: fs, bodies: wire.NewBodies()}
	if c.AzureLimits {
		s.limits = &wire.Limits{}
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("storage directory %s: %w", c.Dir, errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Server) open() (err error) {
	if err = checkFormat(s.config.Dir); err != nil {
		return err
	}
	if s.store, err = store.Open(s.fs, filepath.Join(s.config.Dir, "db"), s.config.Cache, s.config.Log); err != nil {
		return err
	}
	if err = markFormat(s.config.Dir); err != nil {
		return err
	}
	if s.config.Key, err = keyIn(s.config.Dir, s.config.Key); err != nil {
		return err
	}
	if s.table, err = table.New(s.store, s.config.Account, s.config.Key); err != nil {
		return err
	}
	if s.queue, err = queue.New(s.store, s.config.Account, s.config.Key, s.config.Now); err != nil {
		return err
	}
	s.blob, err = blob.New(s.store, s.fs, filepath.Join(s.config.Dir, "blobs"), s.config.Account, s.config.Key)
	if err != nil {
		return err
	}
	s.blob.Backup, s.blob.Inspect = s.Backup, s.writeInspection
	return s.fs.RemoveAll(filepath.Join(s.config.Dir, checkpoints)) // of a process that was killed
}

// Account returns the account's name.
func (s *Server) Account() string { return s.config.Account }

// Key returns the account's key in base64, as connection strings contain it.
func (s *Server) Key() string { return base64.StdEncoding.EncodeToString(s.config.Key) }

// Tables returns the handler of the Table service, under /{account}/.
func (s *Server) Tables() http.Handler { return s.bounded(s.table.Handler(s.config.Now, s.config.Log)) }

// Queues returns the handler of the Queue service, under /{account}/.
func (s *Server) Queues() http.Handler { return s.bounded(s.queue.Handler(s.config.Log)) }

// Blobs returns the handler of the Blob service, under /{account}/.
func (s *Server) Blobs() http.Handler { return s.bounded(s.blob.Handler(s.config.Now, s.config.Log)) }

func (s *Server) bounded(h *wire.Handler) http.Handler {
	h.Bodies, h.Limits, h.Full = s.bodies, s.limits, s.store.Room.Full
	if s.config.OnAnswer != nil {
		h.Answer = func(service wire.Service, status int) { s.config.OnAnswer(string(service), status) }
	}
	return h
}

// Usage returns how many bytes of the disk are free (the maximum if that is not known), how many it has (0 if that is
// not known), how many the database has without large blobs, and whether new data is refused because the disk is full.
func (s *Server) Usage() (free, disk, stored uint64, refuses bool) {
	return s.store.Room.Free(), s.store.Room.Size(), s.store.Size(), s.store.Room.Full()
}

// Close releases the directory. No handler may be running any more.
func (s *Server) Close() error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
