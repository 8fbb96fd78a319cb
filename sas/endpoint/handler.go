package endpoint

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"furrow/sas"
	"furrow/tables"
)

// An Issuer decides who gets a token, and makes it.
type Issuer interface {
	// Authenticate proves that the request is the device's. It is asked before any
	// limit, so it must be cheap.
	Authenticate(ctx context.Context, device tables.DeviceID, header string) (tables.Enrollment, error)

	// Issue makes the token, and writes what there is to write.
	Issue(ctx context.Context, device tables.DeviceID, e tables.Enrollment) (sas.Answer, error)
}

// Config is what a Handler is made of.
type Config struct {
	Issuer  Issuer                      // required
	Ready   func(context.Context) error // says why no token can be issued; nil: there is no such reason
	Limits  Limits
	Metrics *Metrics // nil: new ones
	Log     *slog.Logger

	// Collectors are what else /metrics shows.
	Collectors []prometheus.Collector
}

// A Handler answers devices, and those who watch over the endpoint.
type Handler struct {
	issuer  Issuer
	ready   readiness
	fleet   fleet
	devices devices
	gate    gate
	metrics *Metrics
	journal journal
	show    http.Handler // of the metrics
}

// New is a Handler. Its limits hold for itself alone.
func New(c Config) (*Handler, error) {
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	h := &Handler{
		issuer:  c.Issuer,
		ready:   readiness{ask: c.Ready, log: c.Log},
		fleet:   fleet{bucket: c.Limits.fleet()},
		devices: devices{bucket: c.Limits.device(), most: mostDevices},
		gate:    gate{places: make(chan struct{}, cmp.Or(c.Limits.Places, DefaultPlaces))},
		metrics: c.Metrics,
		journal: journal{log: c.Log},
		show:    promhttp.HandlerFor(c.Metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}),
	}
	return h, c.Metrics.watch(h, c.Collectors)
}

// A route is a path, the method that it takes, and what it does.
type route struct {
	path   string // with {id} for one segment or more: DeviceIDs have no slash, so that more is a bad id
	method string // GET is HEAD, too
	serve  func(*Handler, *exchange) *refusal
}

// routes are the operator's manual. http.ServeMux is not asked, as it redirects
// paths that it finds unclean, and "." and ".." are ids.
func routes() []route {
	return []route{
		// Devices ask for a token when they boot and when theirs is about to end. A
		// repeat is given another one; the one before stays good.
		{"/v1/devices/{id}/token", http.MethodPost, (*Handler).token},
		// Supervisors ask whether to restart the process. It asks nothing of storage.
		{"/healthz", http.MethodGet, func(_ *Handler, x *exchange) *refusal { return x.send(status{"alive"}) }},
		// Load balancers ask whether to send devices here.
		{"/readyz", http.MethodGet, (*Handler).readyz},
		// Prometheus asks, every few seconds.
		{"/metrics", http.MethodGet, func(h *Handler, x *exchange) *refusal { h.show.ServeHTTP(x.w, x.r); return nil }},
		// Who writes a client asks, once.
		{"/openapi.json", http.MethodGet, func(_ *Handler, x *exchange) *refusal { return x.sendBytes("application/json", openAPI) }},
	}
}

type status struct {
	Status string `json:"status"`
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(w, r)
	h.metrics.requests.Inc()
	defer h.metrics.requests.Dec()
	defer h.recovered(x)
	if no := h.dispatch(x); no != nil {
		h.refuse(x, *no)
	}
}

// dispatch finds the route. The id is left for the route to judge.
func (h *Handler) dispatch(x *exchange) *refusal {
	for _, to := range routes() {
		id, ok := match(to.path, x.r.URL.Path)
		if !ok {
			continue
		}
		if x.r.Method != to.method && (to.method != http.MethodGet || x.r.Method != http.MethodHead) {
			x.w.Header().Set("Allow", to.method)
			return &refusal{code: MethodNotAllowed, detail: "this path takes " + to.method}
		}
		x.id = id
		return to.serve(h, x)
	}
	return &refusal{code: NotFound, detail: "there is nothing here; /openapi.json says what there is"}
}

// match is what path has where pattern has {id}.
func match(pattern, path string) (id string, ok bool) {
	before, after, variable := strings.Cut(pattern, "{id}")
	if !variable {
		return "", path == pattern
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, after)
}

func (h *Handler) readyz(x *exchange) *refusal {
	if h.ready.check(x.r.Context()) != nil { // the readiness logs why
		return &refusal{code: NotReady, detail: "no tokens can be issued now; the log says why", after: readyFor}
	}
	return x.send(status{"ready"})
}

// refuse answers, counts and logs a refusal.
func (h *Handler) refuse(x *exchange, no refusal) {
	h.metrics.refusals.WithLabelValues(string(no.code)).Inc()
	h.journal.refused(x, no)
	x.sendProblem(no)
}

// recovered makes of a panic an answer, or cuts off the one that has begun.
func (h *Handler) recovered(x *exchange) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	h.journal.panicked(x, cause)
	if x.begun {
		panic(http.ErrAbortHandler)
	}
	h.metrics.refusals.WithLabelValues(string(Internal)).Inc()
	x.sendProblem(refused(nil))
}

// took is for metrics, of requests for a token.
func (h *Handler) took(x *exchange) { h.metrics.duration.Observe(time.Since(x.began).Seconds()) }
