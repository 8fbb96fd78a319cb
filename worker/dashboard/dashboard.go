package dashboard

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"furrow/sas/access"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// Config configures a Dashboard.
type Config struct {
	web.Config // of the pages; Server runs the model, which is required

	// Secrets let in without access.
	Secrets Secrets
	// Reread returns the Secrets as they are now, and is called every two seconds. nil: they never change.
	Reread func() (Secrets, error)
	// Access says who else is let in. nil: nobody.
	Access *access.Directory

	// TrustHeader names the header with which Proxies say whom they have signed in. Empty: none does. Proxies also say
	// with X-Forwarded-For where requests come from.
	TrustHeader string
	Proxies     []netip.Prefix

	// Loopback says that only this machine reaches the listener. While there are no secrets and nobody has access,
	// everyone is then let in, except requests for other host names: they come from a DNS-rebinding attack.
	Loopback bool
	// Secure says that browsers reach the dashboard over TLS.
	Secure bool

	// OnAnswer is told of every answered request. It may be nil.
	OnAnswer func(Answer)
}

// A Dashboard is the handler of all requests.
type Dashboard struct {
	c       Config
	log     *slog.Logger
	api     *api.API
	web     *web.Site
	routes  []api.Route // all that depend on the fleet or on who asks
	mux     *http.ServeMux
	handler http.Handler // of mux, compressed

	secrets  atomic.Pointer[Secrets]
	tries    *tries
	sessions *sessions
	key      []byte // signs forms
}

// notFound is the pattern of what there is not.
const notFound = "/"

func New(c Config) (*Dashboard, error) {
	c.Log = cmp.Or(c.Log, slog.Default())
	site, err := web.New(c.Config)
	if err != nil {
		return nil, err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.PreferZstd(false))
	if err != nil {
		return nil, err
	}
	d := &Dashboard{c: c, log: c.Log, api: api.New(c.Model, c.Acts, c.Activity, c.Log),
		web: site, mux: http.NewServeMux(), tries: newTries(c.Log),
		sessions: newSessions(c.Secure), key: make([]byte, 32)}
	rand.Read(d.key) // never fails
	d.secrets.Store(&c.Secrets)
	pages := slices.Concat(site.Routes(), d.api.Downloads(), d.signInRoutes())
	d.routes = append(d.api.Routes(), pages...)
	api.Register(d.mux, d.api.Routes(), d.api.Fail)
	api.Register(d.mux, pages, site.Fail)
	d.mux.Handle(web.StaticPath, site.Static())
	d.mux.HandleFunc(notFound, func(w http.ResponseWriter, r *http.Request) {
		d.refuse(w, r, api.NewProblem(api.NotFound, "Page not found",
			"There is nothing at this address. The map is at /, and /openapi.json describes the JSON API."))
	})
	d.handler = compress(d.mux)
	return d, nil
}

// ServeHTTP answers a request if whoever makes it may see the answer.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answerWriter{ResponseWriter: w, answer: Answer{Route: "none", Status: http.StatusOK}}
	defer d.count(a, time.Now())
	setHeaders(a.Header())
	r, end, err := d.admit(a, r)
	if err != nil {
		d.refuse(a, r, err)
		return
	}
	defer end()
	if isAPI(r.URL.Path) && !public(r.URL.Path) {
		a.missing = func() string { return d.missing(model.ReadOf(r.Context())) }
	}
	defer d.logPanic(r)
	defer func() { a.answer.Route = cmp.Or(r.Pattern, a.answer.Route) }()
	d.handler.ServeHTTP(a, r)
}

// missing says how much of the fleet cannot be read, or could not be when the data of an answer was.
func (d *Dashboard) missing(of *model.Read) string {
	switch n, all := len(d.c.Model.Accounts.Missing()), len(d.c.Acts); {
	case n > 0:
		return fmt.Sprintf("%d of %d storage accounts cannot be read", n, all)
	case of.Partial():
		return "a storage account could not be read"
	}
	return ""
}

// refuse answers with a JSON problem where programs read, and with a page elsewhere.
func (d *Dashboard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, is := errors.AsType[*api.Problem](err)
	switch {
	case isAPI(r.URL.Path):
		d.api.Fail(w, r, err)
	case is && p.Code == api.Unauthorized:
		reason, to := "", r.URL.RequestURI()
		if r.Header.Get("Authorization") != "" {
			reason = p.Detail
		}
		if r.Method == http.MethodPost { // the page of an act is at the address of its form
			reason = "Your session has ended, and nothing was done. Sign in, and confirm it again."
		}
		if r.URL.Path == web.SignOutPath {
			reason, to = "", "/"
		}
		d.web.SignIn(w, r, http.StatusUnauthorized, to, reason)
	default:
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
