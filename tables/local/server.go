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

	"github.com/cockroachdb/pebble/v2/vfs"
)

// DefaultAccount is the account's name where none is given.
const DefaultAccount = "furrow"

// ErrInUse is returned by Open for a directory that another process serves.
var ErrInUse = store.ErrInUse

// Config says what to serve.
type Config struct {
	Dir     string       // made if it does not exist
	Account string       // zero: DefaultAccount
	Key     []byte       // zero: the one kept in Dir, which is made at first
	Log     *slog.Logger // zero: nothing is logged
}

// A Server is an open directory. Its handlers serve one account of three services.
type Server struct {
	config Config
	store  *store.Store
	table  *table.Service
	queue  *queue.Service
	blob   *blob.Service
}

// accountName is Azure's rule for storage accounts.
var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Open opens a directory. Only one process can have it open; another gets ErrInUse.
// A directory of a newer program is ErrNewer, and left as it is.
func Open(c Config) (*Server, error) {
	if c.Account == "" {
		c.Account = DefaultAccount
	}
	if !accountName.MatchString(c.Account) {
		return nil, fmt.Errorf("account name %q: 3 to 24 lower-case letters and digits are allowed", c.Account)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := makeDir(c.Dir); err != nil {
		return nil, err
	}
	s := &Server{config: c}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("storage directory %s: %w", c.Dir, errors.Join(err, s.Close()))
	}
	return s, nil
}

// makeDir makes dir where it is not there, so that a power cut cannot take it
// away again with all that it holds.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	parent, err := vfs.Default.OpenDir(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (s *Server) open() (err error) {
	fs := vfs.Default
	if err = checkFormat(s.config.Dir); err != nil {
		return err
	}
	if s.store, err = store.Open(fs, filepath.Join(s.config.Dir, "db"), s.config.Log); err != nil {
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
	if s.queue, err = queue.New(s.store, s.config.Account, s.config.Key, time.Now); err != nil {
		return err
	}
	s.blob, err = blob.New(s.store, fs, filepath.Join(s.config.Dir, "blobs"), s.config.Account, s.config.Key)
	return err
}

// Account is the account's name.
func (s *Server) Account() string { return s.config.Account }

// Key is the account's key, in base64, as connection strings have it.
func (s *Server) Key() string { return base64.StdEncoding.EncodeToString(s.config.Key) }

// Tables serves the Table service under /{account}/.
func (s *Server) Tables() http.Handler { return s.table.Handler(time.Now, s.config.Log) }

// Queues serves the Queue service under /{account}/.
func (s *Server) Queues() http.Handler { return s.queue.Handler(s.config.Log) }

// Blobs serves the Blob service under /{account}/.
func (s *Server) Blobs() http.Handler { return s.blob.Handler(time.Now, s.config.Log) }

// Close releases the directory. No handler may be running.
func (s *Server) Close() error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
