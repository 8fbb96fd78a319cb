package dashboard

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

// How long whoever asks may take for what. A stream has a time for each of its events.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 20 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 90 * time.Second
	grace         = 5 * time.Second // for requests that are being answered when the server is told to stop
	maxHeader     = 16 << 10
)

// A Server serves a dashboard on a listener.
type Server struct {
	Dashboard *Dashboard
	Listener  net.Listener // closed by Run
	TLS       *tls.Config  // nil: plain HTTP
}

// Run serves until ctx ends, and keeps what the pages show. Then it ends the streams,
// and gives the requests that have begun a little time.
func (s *Server) Run(ctx context.Context) error {
	d := s.Dashboard
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx)) // they outlive ctx by the grace
	defer cut()
	server := &http.Server{
		Handler: d, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return requests },
		// Of strangers whose handshakes are broken there is no end.
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	l := s.Listener
	if s.TLS != nil {
		l = tls.NewListener(l, s.TLS)
	}
	var both sync.WaitGroup
	both.Go(func() { _ = d.view.Run(ctx) }) // it logs what goes wrong, and returns nil
	both.Go(func() {
		<-ctx.Done()
		close(d.closing)
		ending, stop := context.WithTimeout(requests, grace)
		defer stop()
		if server.Shutdown(ending) != nil {
			cut()
			_ = server.Close() // of connections no error matters now
		}
	})
	err := server.Serve(l)
	cancel()
	both.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
