package local

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"furrow/tables/local/internal/store"
	"furrow/tables/shares"
)

// Listeners are the listeners of the three services.
type Listeners struct {
	Blob, Queue, Table net.Listener
	TLS                *tls.Config // of all; nil: plain HTTP
}

// Listen listens on three ports: addr's port for blobs and the next two for queues and
// tables, in the order that Azure Storage emulators use. Port 0 picks any three free
// ports. Devices need tables alone, so blobs and queues are on loopback, whatever addr
// is, unless all services are to be reached.
func Listen(addr string, all bool) (l Listeners, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return l, fmt.Errorf("address %q: want host:port", addr)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65533 {
		return l, fmt.Errorf("address %q: the port must be 0 to 65533", addr)
	}
	inner := host
	if !all && !isLoopback(host) {
		inner = "127.0.0.1"
	}
	for i, one := range []struct {
		to   *net.Listener
		host string
	}{{&l.Blob, inner}, {&l.Queue, inner}, {&l.Table, host}} {
		p := port
		if port != 0 {
			p += i
		}
		if *one.to, err = net.Listen("tcp", net.JoinHostPort(one.host, strconv.Itoa(p))); err != nil {
			return Listeners{}, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Close closes the open listeners.
func (l Listeners) Close() error {
	var errs []error
	for _, one := range []net.Listener{l.Blob, l.Queue, l.Table} {
		if one != nil {
			errs = append(errs, one.Close())
		}
	}
	return errors.Join(errs...)
}

// Limits of a connection. The handler has one for bodies.
const (
	headTimeout = 30 * time.Second
	idleTimeout = 5 * time.Minute
	stopTimeout = 10 * time.Second
	keepRoom    = 10 * time.Second // also between looks for space to give back
	maxHead     = 64 << 10         // bytes; those of SDKs are below 4 KiB
)

// Bounds of the connections of all services together.
const (
	maxConnections = 4096
	maxPerAddress  = 1024
)

// Serve answers requests on all listeners until ctx ends, then lets running
// requests finish for up to 10 s. It closes the listeners, and returns nil if ctx ended.
func (s *Server) Serve(ctx context.Context, all ...Listeners) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	open := shares.NewConnections(maxConnections, maxPerAddress)
	running.Go(func() { s.queue.Sweep(ctx, s.config.Log) })
	running.Go(func() { s.store.Room.Keep(ctx, keepRoom) })
	running.Go(func() { s.store.Reclaim(ctx, keepRoom) })
	if p, ok := s.fs.(*private); ok {
		running.Go(func() { store.Regularly(ctx, keepRoom, p.endIfMoved(stop)) })
	}
	for _, one := range []struct {
		on func(Listeners) net.Listener
		by http.Handler
	}{
		{func(l Listeners) net.Listener { return l.Blob }, s.Blobs()},
		{func(l Listeners) net.Listener { return l.Queue }, s.Queues()},
		{func(l Listeners) net.Listener { return l.Table }, s.Tables()},
	} {
		server := &http.Server{Handler: one.by, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout,
			MaxHeaderBytes: maxHead, ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
			DisableGeneralOptionsHandler: true}
		open.Watch(server)
		server.RegisterOnShutdown(open.CloseUnused)
		for _, l := range all {
			running.Go(func() { stop(server.Serve(open.Listen(one.on(l), server, l.TLS))) })
		}
		running.Go(func() {
			<-ctx.Done()
			limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			if server.Shutdown(limit) != nil {
				server.Close() // requests that still run have not been acknowledged
			}
		})
	}
	running.Wait()
	err := context.Cause(ctx)
	for _, expected := range []error{context.Canceled, context.DeadlineExceeded, http.ErrServerClosed} {
		if errors.Is(err, expected) {
			return nil
		}
	}
	return err
}
