package setup

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"furrow/tables"
	"furrow/tables/local"
)

// Embedded is storage that a process serves from a directory for itself and for devices.
type Embedded struct {
	*local.Server
	public    net.Listener // of tables, for devices
	own       local.Listeners
	listeners []local.Listeners
}

// OpenEmbedded listens where devices reach its tables, or all services. With TLS, it also listens on loopback in the
// clear, for commands on this machine.
func OpenEmbedded(c local.Config, address string, all bool, t *TLS) (e *Embedded, err error) {
	outer, err := local.Listen(address, all)
	if err != nil {
		return nil, err
	}
	outer.TLS = t.ServerConfig()
	e = &Embedded{public: outer.Table, listeners: []local.Listeners{outer}}
	if err := e.open(c, outer, t); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Embedded) open(c local.Config, own local.Listeners, t *TLS) (err error) {
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	if e.Server, err = local.Open(c); err != nil {
		return err
	}
	if t != nil {
		if own, err = local.Listen("127.0.0.1:0", false); err != nil {
			return err
		}
		e.listeners = append(e.listeners, own)
	}
	e.own = own
	return WriteConnection(c.Dir, LocalAccount(e.Server, own, nil))
}

// LocalAccount returns the account, with its key, as commands on this machine reach it.
func LocalAccount(s *local.Server, l local.Listeners, t *TLS) tables.Account {
	return PathStyle(t.Scheme(), s.Account(), s.Key(), Local(l.Blob), Local(l.Queue), Local(l.Table))
}

// Close releases the directory and the ports.
func (e *Embedded) Close() (err error) {
	for _, l := range e.listeners {
		Closing(&err, l.Close)
	}
	if e.Server != nil {
		err = errors.Join(err, e.Server.Close())
	}
	return err
}

// Closing adds the error of close to *err, unless a listener was closed before.
func Closing(err *error, close func() error) {
	if e := close(); !errors.Is(e, net.ErrClosed) {
		*err = errors.Join(*err, e)
	}
}

// ServeWhile serves until within returns, so that storage ends last and the others can finish their work.
func (e *Embedded) ServeWhile(ctx context.Context, within func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var failed error
	var storage sync.WaitGroup
	storage.Go(func() {
		defer cancel()
		failed = e.Serve(serving, e.listeners...)
	})
	err := within(ctx)
	stop()
	storage.Wait()
	return errors.Join(err, failed)
}

// Direct returns a transport that reaches the storage without a connection, while it serves, and takes other for
// everything else. That of nil takes other for all.
func (e *Embedded) Direct(other http.RoundTripper) http.RoundTripper {
	if e == nil {
		return other
	}
	return e.Server.Direct(Local(e.own.Queue), Local(e.own.Table), other)
}

// TableURL returns the URL of the Table service for devices, on another host if that is not empty.
func (e *Embedded) TableURL(host string, t *TLS) string {
	at := Public(e.public)
	if host != "" {
		_, port, _ := net.SplitHostPort(at) // a listener's address has a port
		at = net.JoinHostPort(host, port)
	}
	return PathStyle(t.Scheme(), e.Account(), "", "", "", at).Table
}
