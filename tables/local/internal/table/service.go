// Package table serves the REST protocol of the Table service.
package table

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/properties"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// maxBody is the maximum size of a body, also of a transaction, in bytes
// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
const maxBody = 4 << 20

// A Service serves tables from a store.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
	own   *properties.Keeper
	pace  pace
	locks *store.Locks // by partition: a write holds one from its first read until readers see it
	ends  *ends        // of partitions
	pages sync.Pool    // of *[]byte, for the bodies of answers to queries

	// schema guards tables. Writers of rows hold it for reading until Apply, so that no
	// row outlives its table.
	schema sync.RWMutex
	tables map[string]*meta // by lower-case name
}

// New opens the service on a store.
func New(s *store.Store, account string, key []byte) (*Service, error) {
	t := &Service{store: s, locks: store.NewLocks(), ends: newEnds(), tables: map[string]*meta{},
		pages: sync.Pool{New: func() any { return new([]byte) }}}
	t.auth = &auth.Verifier{Account: account, Key: key, Policies: t.policies}
	var err error
	if t.own, err = properties.Open(s, wire.Table); err != nil {
		return nil, err
	}
	return t, t.load()
}

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) *wire.Handler {
	return &wire.Handler{Service: wire.Table, Account: s.auth.Account, Now: now, Log: log, CORS: s.own.Writer,
		Serve: s.router().Serve}
}

var (
	errTableNotFound = &wire.Error{Status: 404, Code: "TableNotFound",
		Message: "The table specified does not exist."}
	errNotFound = &wire.Error{Status: 404, Code: "ResourceNotFound",
		Message: "The specified resource does not exist."}
)

// level returns the metadata level that the client asks for.
func level(r *wire.Request) (entity.Level, error) {
	return levelOf(cmp.Or(r.Query.Get("$format"), r.Header.Get("Accept")))
}

// levelOf returns the level of a $format or an Accept header.
func levelOf(want string) (entity.Level, error) {
	want = strings.ToLower(want)
	switch {
	case strings.Contains(want, "odata=nometadata"):
		return entity.NoMetadata, nil
	case strings.Contains(want, "odata=fullmetadata"):
		return entity.FullMetadata, nil
	case strings.Contains(want, "atom") && !strings.Contains(want, "json"):
		return 0, errAtom
	}
	return entity.MinimalMetadata, nil
}

// answer writes a JSON body. It states the length, without which net/http cuts a long body into chunks.
func answer(w http.ResponseWriter, status int, l entity.Level, body []byte) error {
	h := w.Header()
	wire.Set(h, "Content-Type", "application/json;odata="+l.String()+";streaming=true;charset=utf-8")
	wire.Set(h, "Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // fails only if the client is gone
	return nil
}
