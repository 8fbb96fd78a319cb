package endpoint

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

// Timeouts of a connection. They allow for a device on a modem: it sends and reads about one
// kilobyte each way.
const (
	headerTimeout = 10 * time.Second // for the TLS handshake, and again for the header
	readTimeout   = 20 * time.Second // for the whole request
	writeTimeout  = 60 * time.Second // from the end of the header to the end of the answer
	idleTimeout   = 30 * time.Second // between requests

	// grace is how long requests in progress may take after the server is told to stop.
	grace = 10 * time.Second

	// maxHeader becomes 16 KiB with the 4 KiB that net/http adds.
	maxHeader = 12 << 10

	// defaultConnections take about 50 KB each with TLS. Further clients wait in the
	// system's accept queue.
	defaultConnections = 8192
)

// A Server serves a handler on a listener.
type Server struct {
	Handler  http.Handler
	Listener net.Listener // closed by Run
	TLS      *tls.Config  // nil: plain HTTP
	Log      *slog.Logger

	MaxConnections int // zero: 8192
}

// Run serves until ctx ends. It then stops accepting connections and waits up to ten
// seconds for requests in progress.
func (s *Server) Run(ctx context.Context) error {
	conns := newConnections(cmp.Or(s.MaxConnections, defaultConnections))
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by grace
	defer cancel()
	server := &http.Server{
		Handler:           conns.closeWhenBusy(patient(requests, s.Handler)),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnState:      conns.track,
		// Port scanners cause endless TLS handshake errors.
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	conns.heads.Watch(server)

	var stopping sync.WaitGroup
	ended, end := context.WithCancel(ctx)
	stopping.Go(func() {
		<-ended.Done()
		s.shutDown(requests, server)
		cancel()
	})
	err := server.Serve(conns.heads.Listen(netutil.LimitListener(s.Listener, conns.max), server, s.TLS))
	end()
	stopping.Wait()
	conns.all.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// patient serves requests that end with ctx, and not with the client's input: net/http takes a client that has closed
// its half of the connection, as nc -N and some gateways do, for one that has gone. What is done for a client that has
// gone has bounds of its own.
func patient(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(ctx)) })
}

func (s *Server) shutDown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("shutdown: requests in progress cut off", "grace", grace)
		_ = server.Close() // the listener is already closed, and errors of connections do not matter
	}
}
