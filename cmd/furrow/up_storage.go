package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// Premises are storage that up serves itself, from a directory.
type embeddedStorage struct {
	server    *local.Server
	listeners []local.Listeners // first those that devices reach
}

// openEmbeddedStorage listens where devices can reach it and, if that is over TLS, on
// loopback in the clear for the commands of this machine.
func openEmbeddedStorage(c *cli.Context, g serverTLS, log *slog.Logger) (p *embeddedStorage, err error) {
	host, _, err := net.SplitHostPort(c.String("listen"))
	if err != nil {
		return nil, usagef(c, "--listen: %v", err)
	}
	p = &embeddedStorage{}
	outer, err := listen(net.JoinHostPort(host, strconv.Itoa(c.Int("storage-port"))), "--storage-port")
	if err != nil {
		return nil, err
	}
	p.listeners = []local.Listeners{g.protect(outer)}
	if err := p.open(c, g, log); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *embeddedStorage) open(c *cli.Context, g serverTLS, log *slog.Logger) (err error) {
	dir, err := filepath.Abs(c.String("storage"))
	if err != nil {
		return err
	}
	if p.server, err = local.Open(local.Config{Dir: dir, Log: log}); err != nil {
		return withAdvice(err, "--storage", "--storage-port")
	}
	own := p.listeners[0]
	if g.TLS != nil {
		if own, err = local.Listen("127.0.0.1:0"); err != nil {
			return err
		}
		p.listeners = append(p.listeners, own)
	}
	return withAdvice(setup.WriteConnection(dir, here(p.server, own, serverTLS{})), "--storage", "--storage-port")
}

// Close releases the directory and the ports.
func (p *embeddedStorage) Close() (err error) {
	for _, l := range p.listeners {
		closing(&err, l.Close)
	}
	if p.server != nil {
		err = errors.Join(err, p.server.Close())
	}
	return err
}

// serve serves for as long as what runs within it. Storage ends last, so that the
// others can leave their work in order.
func (p *embeddedStorage) serve(ctx context.Context, within func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var failed error
	var storage sync.WaitGroup
	storage.Go(func() {
		defer cancel()
		failed = p.server.Serve(serving, p.listeners...)
	})
	err := within(ctx)
	stop()
	storage.Wait()
	return errors.Join(err, failed)
}

// tableURL is that of the Table service, as devices reach it.
func (p *embeddedStorage) tableURL(c *cli.Context, g serverTLS) string {
	at := reach(p.listeners[0].Table)
	if public, err := url.Parse(c.String("public-url")); err == nil && public.Host != "" {
		_, port, _ := net.SplitHostPort(at) // of a listener: it has one
		at = net.JoinHostPort(public.Hostname(), port)
	}
	return fmt.Sprintf("%s://%s/%s", g.scheme(), at, p.server.Account())
}
