package main

import (
	"errors"
	"log/slog"
	"net"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas/access"
	"furrow/worker/dashboard"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// A dashboardServer serves the dashboard. Nil serves none.
type dashboardServer struct {
	c        *cli.Context
	config   dashboard.Config // who is let in, and the map
	log      *slog.Logger
	tls      *setup.TLS
	listener net.Listener
	monitor  *monitor.Monitor

	stores *stores // of server, as pages are
	pages  roles.Pages
}

// openDashboard listens on the address of a flag. On one that other machines can reach it requires TLS or a proxy.
func openDashboard(
	c *cli.Context, flag string, protected bool, m *monitor.Monitor, log *slog.Logger,
) (*dashboardServer, error) {
	admits, err := readAdmission(c)
	if err != nil {
		return nil, err
	}
	tiles := web.Tiles{}
	if template := c.String("tiles"); template != "" {
		if tiles, err = web.ParseTiles(template); err != nil {
			return nil, usagef(c, "--tiles: %v", err)
		}
	}
	address := c.String(flag)
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, usagef(c, "--%s: %v", flag, err)
	}
	admits.Tiles = tiles
	w := &dashboardServer{c: c, config: admits, log: log, monitor: m}
	if w.listener, err = net.Listen("tcp", address); err != nil {
		return nil, listenAdvice(err, "--"+flag)
	}
	exposed := setup.Exposed(w.listener)
	if exposed && !protected && !c.Bool("behind-proxy") {
		err = usagef(c, "--%s %s can be reached from other machines, and without TLS the password or token could be "+
			"intercepted: use --tls self-signed or --tls CERT,KEY, or listen on 127.0.0.1, or use --behind-proxy if a proxy "+
			"in front of it terminates TLS", flag, address)
		return nil, errors.Join(err, w.listener.Close())
	}
	w.config.Loopback, w.config.Secure = !exposed, exposed && protected || c.Bool("behind-proxy")
	return w, nil
}

// server returns the server. It has its own storage clients, so that other figures do not count its reads.
func (w *dashboardServer) server() (*dashboard.Server, error) {
	file, err := configFile(w.c)
	if err != nil {
		return nil, err
	}
	s, err := openStorage(w.c, roles.Hooks{Table: model.CountTable, Queue: model.CountQueue}, hooksOf(w.monitor))
	if err != nil {
		return nil, err
	}
	holds, err := s.Generations().Holding(w.c.Context, file)
	if err != nil {
		return nil, err
	}
	pages, err := s.Pages(holds, w.log, w.c.StringSlice("pipeline")...)
	if err != nil {
		return nil, usagef(w.c, "--pipeline: %v", err)
	}
	w.stores, w.pages = s, pages
	d := w.config
	d.Model = pages.Model(model.Config{Silent: durationOf(w.c, "silent-after"), Log: w.log})
	d.Access = &access.Directory{Store: access.NewStore(s.Tables, s.Names)}
	d.Acts = s.acts(w.log)
	d.Acts.Pipelines = pages.Acting
	d.Activity = access.NewLog(s.Tables, s.Names)
	d.OnAnswer = w.monitor.CountAnswers()
	d.Storage, d.Version, d.Log = s.Account.Table, readVersion().Version, w.log
	served, err := dashboard.New(d)
	return &dashboard.Server{Dashboard: served, Listener: w.listener, TLS: w.tls.ServerConfig()}, err
}

func (w *dashboardServer) url() string {
	return w.tls.Scheme() + "://" + setup.Public(w.listener) + "/"
}

// Close closes the listener.
func (w *dashboardServer) Close() error {
	if w == nil {
		return nil
	}
	return w.listener.Close()
}
