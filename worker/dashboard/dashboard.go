package dashboard

import (
	"log/slog"
	"net/http"

	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// Config is what a Dashboard is made of.
type Config struct {
	View *model.Store // required; Server runs it

	// Secrets let in whoever has one of them. Without any, everybody is let in who can
	// reach the listener, which must be this machine alone.
	Secrets Secrets
	// Loopback says that the listener is reached from this machine alone, and that it
	// takes no secret: requests that name another host come from a page elsewhere that
	// wants to look through a browser here. With a secret they may come from a proxy.
	Loopback bool

	Storage string // where the fleet is, for the foot of pages; without a key
	Version string // of furrow, for the foot of pages
	Log     *slog.Logger
}

// A Dashboard answers requests.
type Dashboard struct {
	c       Config
	log     *slog.Logger
	view    *model.Store
	pages   *web.Pages
	mux     *http.ServeMux
	tries   tries
	streams chan struct{} // has room for those that may be open
	closing chan struct{} // closed when streams are to end
}

// mostStreams are open at a time; each holds what it has shown, and a compressor.
const mostStreams = 64

// New is a Dashboard.
func New(c Config) (*Dashboard, error) {
	p, err := web.New()
	if err != nil {
		return nil, err
	}
	d := &Dashboard{c: c, log: c.Log, view: c.View, pages: p, mux: http.NewServeMux(), streams: make(chan struct{}, mostStreams), closing: make(chan struct{})}
	if d.log == nil {
		d.log = slog.Default()
	}
	for _, r := range routes() {
		d.mux.Handle(r.pattern, d.serve(r))
	}
	d.mux.Handle(web.StaticPath, p.Static())
	d.mux.Handle("/", d.serve(route{page: true, serve: func(*Dashboard, *exchange) error { return errNothing }}))
	return d, nil
}

// serve is a route as a handler.
func (d *Dashboard) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x := &exchange{w: w, r: req, page: r.page && !isData(req.URL.Path)}
		if x.ask, x.err = parseAsk(req.URL.RawQuery, r.asks); x.err == nil || r.pattern == "" {
			x.err = r.serve(d, x)
		}
		if x.err != nil {
			d.refuse(x, x.err)
		}
	})
}

// ServeHTTP lets in who may come in, and answers. Nothing here has a side effect, so
// all else but GET and HEAD is refused.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head(w.Header())
	if err := d.admit(w, r); err != nil {
		d.refuse(&exchange{w: w, r: r, page: !isData(r.URL.Path)}, err)
		return
	}
	defer d.recovered(w, r)
	d.mux.ServeHTTP(w, r)
}

// head is what every answer has. Pages add what is theirs.
func head(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// recovered makes of a panic a line in the log, and an answer if none has begun.
func (d *Dashboard) recovered(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler {
		d.log.Error("a page broke", "path", r.URL.Path, "panic", cause)
	}
	panic(http.ErrAbortHandler) // what is written of the answer must not look whole
}
