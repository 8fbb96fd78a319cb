package monitor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/setup"
	"furrow/worker/dashboard"
)

// Limits of the server. Scrapers and probes need little.
const (
	timeout        = 10 * time.Second // for a request, and again for its answer
	readyWithin    = 5 * time.Second
	maxConnections = 64
	maxHeader      = 16 << 10 // bytes
	grace          = 2 * time.Second
)

// A Server serves /metrics, /healthz, /readyz and, for a Monitor that watches pipelines, /v1/scale.
type Server struct {
	Monitor  *Monitor
	Listener net.Listener // nil: nothing is served
	Log      *slog.Logger
}

// Close closes the listener.
func (s *Server) Close() error {
	if s.Listener == nil {
		return nil
	}
	return s.Listener.Close()
}

// While serves until within returns, and closes the listener. The process is ready while ready returns nil.
func (s *Server) While(ctx context.Context, ready, within func(context.Context) error) error {
	if s.Listener == nil {
		return within(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.run(ctx, ready) })
	both.Go(func() error { defer cancel(); return within(ctx) })
	return both.Wait()
}

func (s *Server) run(ctx context.Context, ready func(context.Context) error) error {
	server := &http.Server{Handler: s.handler(ready), ReadTimeout: timeout, WriteTimeout: timeout,
		IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	s.Log.InfoContext(ctx, "metrics served", "url", "http://"+s.Listener.Addr().String()+"/metrics")
	ended, end := context.WithCancel(ctx)
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ended.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(within) != nil {
			_ = server.Close() // a scrape that is cut off is repeated
		}
	})
	err := server.Serve(netutil.LimitListener(s.Listener, maxConnections))
	end()
	stopping.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) handler(ready func(context.Context) error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Monitor, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn)}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		if err := ready(ctx); err != nil {
			s.Log.WarnContext(ctx, "not ready", "error", err)
			answer(w, http.StatusServiceUnavailable, "not ready; the log has the reason")
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	if s.Monitor.pipelines != nil {
		mux.HandleFunc("GET /v1/scale", s.serveScale)
	}
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that has left needs no answer
}

// Certificate adds the end of a server's certificate. Without TLS it is zero.
func (m *Monitor) Certificate(t *setup.TLS) {
	m.Gauge("furrow_certificate_end_seconds", "When the server's certificate ends, in seconds since 1970; 0 without one.",
		func() float64 {
			if t == nil || t.End().IsZero() {
				return 0
			}
			return float64(t.End().Unix())
		})
}

// CountAnswers adds the metrics of the dashboard, and returns what counts its answers, for a dashboard.Config.
func (m *Monitor) CountAnswers() func(dashboard.Answer) {
	requests := promauto.With(m).NewCounterVec(prometheus.CounterOpts{Name: "furrow_dashboard_requests_total",
		Help: "Requests that the dashboard answered, by route and class of the status."}, []string{"route", "status"})
	seconds := promauto.With(m).NewCounterVec(prometheus.CounterOpts{Name: "furrow_dashboard_seconds_total",
		Help: "Time that the dashboard took for its answers; a stream counts when it has ended."}, []string{"route"})
	count := func(a dashboard.Answer) {
		requests.WithLabelValues(a.Route, class(a.Status)).Inc()
		seconds.WithLabelValues(a.Route).Add(a.Took.Seconds())
	}
	for _, status := range []int{200, 400, 500} { // so that rates are zero, not absent
		requests.WithLabelValues("none", class(status))
	}
	seconds.WithLabelValues("none")
	return count
}
