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
	server := &http.Server{
		Handler:           conns.closeWhenBusy(s.Handler),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnState:      conns.track,
		// Port scanners cause endless TLS handshake errors.
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	conns.heads.Watch(server)
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by grace
	defer cancel()
	server.BaseContext = func(net.Listener) context.Context { return requests }

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

func (s *Server) shutDown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("shutdown: requests in progress cut off", "grace", grace)
		_ = server.Close() // the listener is already closed, and errors of connections do not matter
	}
}
