// Package table serves the Table service's REST protocol.
package table

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// maxBody bounds a request's body, a transaction's too
// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
const maxBody = 4 << 20

// A Service serves tables out of a store.
type Service struct {
	store *store.Store
	auth  *auth.Verifier
	locks *store.Locks // by partition: a write reads and applies under one

	// schema guards tables. Writers of rows hold it for reading until they have
	// applied, so that no row outlives its table.
	schema sync.RWMutex
	tables map[string]*meta // by lower-case name
}

// New opens the service on what the store holds.
func New(s *store.Store, account string, key []byte) (*Service, error) {
	t := &Service{store: s, locks: store.NewLocks(), tables: map[string]*meta{}}
	t.auth = &auth.Verifier{Account: account, Key: key, Policies: t.policies}
	return t, t.load()
}

// Handler serves the service over HTTP.
func (s *Service) Handler(now func() time.Time, log *slog.Logger) http.Handler {
	return &wire.Handler{Service: wire.Table, Account: s.auth.Account, Now: now, Log: log, Serve: s.serve}
}

// serve finds out who asks and for what.
func (s *Service) serve(w http.ResponseWriter, r *wire.Request) error {
	path, err := parsePath(r.Path)
	if err != nil {
		return err
	}
	g, err := s.auth.Authorize(r, auth.Resource{Name: path.authorized()})
	if err != nil {
		return err
	}
	return s.route(w, r, g, path)
}

// route tells operations apart by the path (the account, Tables, $batch, a table
// or an entity) and the method.
func (s *Service) route(w http.ResponseWriter, r *wire.Request, g *auth.Grant, path path) error {
	method := methodOf(r)
	if err := checkServed(r, path, method); err != nil {
		return err
	}
	switch {
	case r.Query.Get("comp") == "acl":
		return s.acl(w, r, g, path, method)
	case path.table == "$batch" && method == http.MethodPost:
		return s.batch(w, r, g)
	case path.isTables():
		return s.schemaOp(w, r, g, path, method)
	case method == http.MethodGet || method == http.MethodHead:
		return s.read(w, r, g, path)
	}
	return s.write(w, r, g, path, method)
}

// methodOf is the request's method, which a client behind a strict proxy puts
// into X-HTTP-Method.
func methodOf(r *wire.Request) string {
	if tunnelled := r.Header.Get("X-HTTP-Method"); tunnelled != "" && r.Method == http.MethodPost {
		return strings.ToUpper(tunnelled)
	}
	return r.Method
}

// checkServed names what this server does not serve.
func checkServed(r *wire.Request, path path, method string) error {
	comp := r.Query.Get("comp")
	switch {
	case method == http.MethodOptions:
		return wire.NotImplemented("CORS preflight requests")
	case path.table == "" && comp != "":
		return wire.NotImplemented("the Table service's " + comp + " (comp=" + comp + ")")
	case path.table == "":
		return wire.NotImplemented("the Table service's service document")
	case path.table == "$metadata":
		return wire.NotImplemented("$metadata")
	case comp != "" && comp != "acl":
		return wire.NotImplemented("comp=" + comp + " on tables")
	case strings.Contains(r.Header.Get("Content-Type"), "atom+xml"):
		return errAtom
	}
	return nil
}

var (
	errAtom = &wire.Error{Status: 415, Code: "AtomFormatNotSupported",
		Message: "Atom format is not supported. Use application/json."}
	errMethod = &wire.Error{Status: 405, Code: "UnsupportedHttpVerb",
		Message: "The resource doesn't support the specified HTTP verb."}
	errTableNotFound = &wire.Error{Status: 404, Code: "TableNotFound",
		Message: "The table specified does not exist."}
	errNotFound = &wire.Error{Status: 404, Code: "ResourceNotFound",
		Message: "The specified resource does not exist."}
)

// level is the metadata level that the client asked for.
func level(r *wire.Request) (entity.Level, error) {
	return levelOf(cmp.Or(r.Query.Get("$format"), r.Header.Get("Accept")))
}

// levelOf is the level of a $format or an Accept header.
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

// answer writes a JSON body.
func answer(w http.ResponseWriter, status int, l entity.Level, body []byte) error {
	h := w.Header()
	wire.Set(h, "Content-Type", "application/json;odata="+l.String()+";streaming=true;charset=utf-8")
	common(h)
	w.WriteHeader(status)
	w.Write(body) // a client that is gone hears nothing
	return nil
}

// empty answers without a body.
func empty(w http.ResponseWriter, status int) error {
	common(w.Header())
	if status != http.StatusNoContent {
		wire.Set(w.Header(), "Content-Length", "0")
	}
	w.WriteHeader(status)
	return nil
}

func common(h http.Header) {
	wire.Set(h, "Cache-Control", "no-cache")
	wire.Set(h, "X-Content-Type-Options", "nosniff")
	wire.Set(h, "DataServiceVersion", "3.0;")
}
