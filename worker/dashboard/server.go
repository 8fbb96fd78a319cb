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

	"furrow/tables/shares"
)

// Timeouts and limits of connections. A stream sets a deadline of its own for each event.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 20 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 90 * time.Second
	grace         = 5 * time.Second // for open requests when the server stops
	maxHeader     = 16 << 10        // bytes

	maxConnections = 1024
	maxPerAddress  = 256 // it may be that of a proxy
)

// A Server serves a dashboard on a listener.
type Server struct {
	Dashboard *Dashboard
	Listener  net.Listener // closed by Run
	TLS       *tls.Config  // nil: plain HTTP
}

// Run runs the model and serves requests until ctx ends. Then it ends all streams and gives other open
// requests a grace period.
func (s *Server) Run(ctx context.Context) error {
	d := s.Dashboard
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx)) // they outlive ctx by the grace period
	defer cut()
	open := shares.NewConnections(maxConnections, maxPerAddress)
	server := &http.Server{
		Handler: d, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug), // failed TLS handshakes of strangers are frequent
	}
	open.Watch(server)
	var both sync.WaitGroup
	both.Go(func() { _ = d.c.Model.Run(ctx) }) // it logs its errors and returns nil
	both.Go(func() { d.followSecrets(ctx) })
	both.Go(func() {
		<-ctx.Done()
		d.api.Close()
		ending, stop := context.WithTimeout(requests, grace)
		defer stop()
		if server.Shutdown(ending) != nil {
			cut()
			_ = server.Close()
		}
	})
	err := server.Serve(open.Listen(s.Listener, server, s.TLS))
	cancel()
	both.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
