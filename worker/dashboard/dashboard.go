package dashboard

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// Config configures a Dashboard.
type Config struct {
	Model *model.Store // required; Server runs it

	// Secrets are what a request needs one of. Without any, everyone who reaches the listener is let in,
	// so it must only be reachable from this machine.
	Secrets Secrets
	// Loopback says that only this machine reaches the listener and that no secret is needed. Requests for
	// any other host name are then refused, because they come from a DNS-rebinding attack.
	Loopback bool

	Storage string // URL of the storage, without a key, for the foot of pages
	Version string // of furrow, for the foot of pages
	Tiles   web.Tiles
	Log     *slog.Logger
}

// A Dashboard is the handler of all requests.
type Dashboard struct {
	c       Config
	log     *slog.Logger
	api     *api.API
	web     *web.Site
	handler http.Handler
	tries   *tries
}

func New(c Config) (*Dashboard, error) {
	log := cmp.Or(c.Log, slog.Default())
	site, err := web.New(web.Config{Model: c.Model, Log: log, Storage: c.Storage, Version: c.Version, Tiles: c.Tiles})
	if err != nil {
		return nil, err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	d := &Dashboard{c: c, log: log, api: api.New(c.Model, log), web: site, tries: newTries()}
	mux := http.NewServeMux()
	api.Register(mux, d.api.Routes(), d.api.Fail)
	api.Register(mux, site.Routes(), site.Fail)
	mux.Handle(web.StaticPath, site.Static())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.refuse(w, r, api.NewProblem(api.NotFound, "Page not found",
			"There is nothing at this address. The map is at /, and /openapi.json describes the JSON API."))
	})
	d.handler = compress(mux)
	return d, nil
}

// ServeHTTP authorizes a request and answers it.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if err := d.authorize(w, r); err != nil {
		d.refuse(w, r, err)
		return
	}
	defer d.logPanic(r)
	d.handler.ServeHTTP(w, r)
}

// refuse answers with a JSON problem where programs read, and with a page elsewhere.
func (d *Dashboard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if isAPI(r.URL.Path) {
		d.api.Fail(w, r, err)
	} else {
		d.web.Fail(w, r, err)
	}
}

func isAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/openapi.json" || path == api.HealthPath
}

// setHeaders sets the headers of every answer. Pages replace the content security policy by their own.
func setHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// logPanic logs a panic and closes the connection, so that a partial answer does not look complete.
func (d *Dashboard) logPanic(r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler {
		d.log.Error("handler panicked", "path", r.URL.Path, "panic", cause)
	}
	panic(http.ErrAbortHandler)
}
