package endpoint

import (
	"cmp"
	"context"
	"crypto/x509"
	_ "embed"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// An Issuer decides who gets a token and issues it.
type Issuer interface {
	// Authenticate verifies that the request comes from the device. It is called before
	// any rate limit, so it must be cheap. It returns the enrollment with an error, too, if the
	// client has its key.
	Authenticate(ctx context.Context, device schema.DeviceID, header string) (schema.Enrollment, error)

	// AuthenticateCertificate does so by the certificates that the client has sent in the TLS handshake.
	AuthenticateCertificate(ctx context.Context, device schema.DeviceID, chain []*x509.Certificate) (
		schema.Enrollment, error)

	// Issue issues the token and records it.
	Issue(ctx context.Context, device schema.DeviceID, e schema.Enrollment) (sas.Answer, error)

	// Ring has the next run look at a device that has a token, and fold rows again from late on, if it is not zero.
	Ring(ctx context.Context, device schema.DeviceID, late tables.Ticks) error
}

// Config configures a Handler.
type Config struct {
	Issuer Issuer                      // required
	Ready  func(context.Context) error // why no token can be issued now; nil: always ready
	Limits Limits
	Log    *slog.Logger

	// The handler adds its own metrics and Collectors to Registry. Nil: a new one. They are not served here: devices
	// are strangers.
	Registry   *prometheus.Registry
	Collectors []prometheus.Collector
}

// A Handler serves devices, and the probes that monitor the endpoint.
type Handler struct {
	issuer        Issuer
	ready         readiness
	fleet         *fleet
	perEnrollment enrollments
	devices       *devices
	storage       *storageLimiter
	metrics       *metrics
	log           requestLog
}

// New returns a Handler. Its limits are its own: two replicas allow twice as much.
func New(c Config) (*Handler, error) {
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	h := &Handler{
		issuer:        c.Issuer,
		ready:         readiness{ask: c.Ready, log: c.Log},
		fleet:         newFleet(c.Limits.fleet()),
		perEnrollment: enrollments{all: map[schema.EnrollmentID]*limit{}},
		devices:       newDevices(c.Limits.device(), maxDevices),
		storage:       newStorageLimiter(cmp.Or(c.Limits.Slots, DefaultSlots)),
		metrics:       newMetrics(c.Registry),
		log:           newRequestLog(c.Log),
	}
	return h, h.metrics.observe(h, c.Collectors)
}

// A route maps a path and a method to a function.
type route struct {
	path   string // {id} matches any text, slashes included: an ID with a slash is then reported as a bad ID
	method string // GET also admits HEAD
	serve  func(*Handler, *exchange) *refusal
}

// routes lists every route with its callers. http.ServeMux does not serve here because it
// redirects unclean paths, and "." and ".." are valid device IDs.
func routes() []route {
	return []route{
		// Devices request a token when they boot and before theirs expires. A repeated
		// request gets another token; the earlier one stays valid.
		{"/v1/devices/{id}/token", http.MethodPost, (*Handler).token},
		// Supervisors ask whether to restart the process. It does not use storage.
		{"/healthz", http.MethodGet, func(_ *Handler, x *exchange) *refusal { return x.send(status{"alive"}) }},
		// Load balancers ask whether to send devices here.
		{"/readyz", http.MethodGet, (*Handler).readyz},
		// Authors of clients read it once.
		{"/openapi.json", http.MethodGet, func(_ *Handler, x *exchange) *refusal {
			return x.sendBytes("application/json", openAPI)
		}},
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

// dispatch finds and runs the route, which checks the ID itself.
func (h *Handler) dispatch(x *exchange) *refusal {
	for _, to := range routes() {
		id, ok := match(to.path, x.r.URL.Path)
		if !ok {
			continue
		}
		if x.r.Method != to.method && (to.method != http.MethodGet || x.r.Method != http.MethodHead) {
			allow := to.method
			if allow == http.MethodGet {
				allow = "GET, HEAD"
			}
			x.w.Header().Set("Allow", allow)
			return &refusal{code: MethodNotAllowed, detail: "this path takes " + allow}
		}
		x.id = id
		return to.serve(h, x)
	}
	return &refusal{code: NotFound, detail: "no such path; /openapi.json describes the API"}
}

// match returns the part of path in the place of {id}.
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
	if h.ready.check(x.r.Context()) != nil { // readiness logs the reason
		return &refusal{code: NotReady, detail: "tokens cannot be issued now; the log has the reason", after: readyFor}
	}
	return x.send(status{"ready"})
}

// refuse sends, counts and logs a refusal.
func (h *Handler) refuse(x *exchange, no refusal) {
	h.metrics.refusals.WithLabelValues(string(no.code)).Inc()
	h.log.refused(x, no)
	x.sendProblem(no)
}

// recovered turns a panic into a response, or aborts one that was already started.
func (h *Handler) recovered(x *exchange) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause)
	}
	h.log.panicked(x, cause)
	if x.begun {
		panic(http.ErrAbortHandler)
	}
	h.metrics.refusals.WithLabelValues(string(Internal)).Inc()
	x.sendProblem(refused(nil))
}

// took records the duration of a token request.
func (h *Handler) took(x *exchange) { h.metrics.duration.Observe(time.Since(x.began).Seconds()) }

// openAPI describes the API to authors of clients.
//
//go:embed openapi.json
var openAPI []byte
