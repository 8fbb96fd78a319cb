package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a client may take for what. A device that has no more than a modem
// sends and reads a kilobyte each way.
const (
	headerTimeout = 10 * time.Second // for the TLS handshake, and then for the header
	readTimeout   = 20 * time.Second // for the whole request
	writeTimeout  = 60 * time.Second // from the end of the header to the end of the answer
	idleTimeout   = 30 * time.Second // between requests

	// grace is for requests that are being answered when the server is told to stop.
	grace = 10 * time.Second

	// maxHeader is 16 KiB with the 4 KiB that net/http adds.
	maxHeader = 12 << 10

	// connections are held at a time; others wait in the system's queue. With TLS,
	// each takes some 50 KB.
	connections = 8192
)

// A Server serves a handler on a listener.
type Server struct {
	Handler  http.Handler
	Listener net.Listener // closed by Run
	TLS      *tls.Config  // nil: plain HTTP
	Log      *slog.Logger
}

// Run serves until ctx ends. Then it takes no more connections, and gives requests
// that have begun the time to be answered.
func (s *Server) Run(ctx context.Context) error {
	crowd := newCrowd(s.Listener, connections)
	server := &http.Server{
		Handler:           crowd.thin(s.Handler),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		ConnState:      crowd.watch,
		// Of strangers whose handshakes are broken there is no end.
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx)) // they outlive ctx by the grace
	defer cancel()
	server.BaseContext = func(net.Listener) context.Context { return requests }

	var stopping sync.WaitGroup
	ended, end := context.WithCancel(ctx)
	stopping.Go(func() {
		<-ended.Done()
		s.shutDown(requests, server)
		cancel()
	})
	err := server.Serve(s.protected(crowd))
	end()
	stopping.Wait()
	crowd.gone.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) protected(l net.Listener) net.Listener {
	if s.TLS == nil {
		return l
	}
	return tls.NewListener(l, s.TLS)
}

func (s *Server) shutDown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		s.Log.Warn("requests are cut off that took longer than the time to stop", "grace", grace)
		_ = server.Close() // the listener is closed already, and of connections no error matters
	}
}
