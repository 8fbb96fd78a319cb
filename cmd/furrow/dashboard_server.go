package main

import (
	"context"
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
	"furrow/worker/limits"
)

// A dashboardServer serves the dashboard.
type dashboardServer struct {
	c        *cli.Context
	config   dashboard.Config // who is let in, and the map
	log      *slog.Logger
	tls      *setup.TLS
	listener net.Listener
	monitor  *monitor.Monitor

	stores []*stores    // of the accounts
	pages  *roles.Pages // of the first one
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
	address, err := addressFlag(c, flag)
	if err != nil {
		return nil, err
	}
	admits.Tiles = tiles
	w := &dashboardServer{c: c, config: admits, log: log, monitor: m}
	if w.listener, err = listenProtected(c, flag, address, protected); err != nil {
		return nil, err
	}
	exposed := setup.Exposed(w.listener)
	w.config.Loopback, w.config.Secure = !exposed, exposed && protected || c.Bool("behind-proxy")
	return w, nil
}

// server returns the server. It has its own storage clients, so that other figures do not count its reads. Own is
// storage that this process serves, or nil.
func (w *dashboardServer) server(own *setup.Embedded) (*dashboard.Server, error) {
	file, err := configFile(w.c)
	if err != nil {
		return nil, err
	}
	accounts, err := accountsOf(w.c)
	if err != nil {
		return nil, err
	}
	d, shown := w.config, model.Config{Log: w.log}
	accounts.own = own
	for i := range accounts.where {
		s, err := accounts.open(i, w.hooks()...)
		if err != nil {
			return nil, err
		}
		pages, acts := s.Pages(file, w.log, w.c.StringSlice("pipeline")...), s.acts()
		if acts.Pipelines = pages.Acting; i == 0 {
			w.pages, d.Activity, d.Storage = pages, access.NewLog(s.Tables, s.Names), s.Account.Table
			d.Access = &access.Directory{Store: access.NewStore(s.Tables, s.Names)}
			if err = pages.Open(w.c.Context); errors.Is(err, roles.ErrNoPipeline) {
				err = usagef(w.c, "--pipeline: %v", err)
			}
			if err != nil {
				return nil, err
			}
		} else {
			acts.Log = &d.Activity // people look for all acts in one log
			d.Storage += ", " + s.Account.Table
		}
		account, err := accounts.shown(i, s, pages)
		if err != nil {
			return nil, err
		}
		w.stores, d.Acts, shown.Accounts = append(w.stores, s), append(d.Acts, acts), append(shown.Accounts, account)
	}
	d.Model = model.New(shown)
	d.OnAnswer = w.monitor.CountAnswers()
	d.Version, d.Log = readVersion().Version, w.log
	served, err := dashboard.New(d)
	return &dashboard.Server{Dashboard: served, Listener: w.listener, TLS: w.tls.ServerConfig()}, err
}

// shown returns an account for the dashboard, with the container of the archive, if there can be one, and its disk.
func (a *accounts) shown(number int, s *stores, pages *roles.Pages) (model.Account, error) {
	shown := pages.Account(a.name(number))
	if dir := directoryOf(a.where[number]); dir != "" {
		shown.Disk = func() ([]limits.Limit, error) { return diskLimits(dir) }
	}
	objects, err := s.Objects()
	if objects != nil {
		s.keys.used(objects)
		shown.Objects = objects
	}
	return shown, err
}

// hooks count what the dashboard reads.
func (w *dashboardServer) hooks() []roles.Hooks {
	return []roles.Hooks{{Table: model.CountTable, Queue: model.CountQueue}, hooksOf(w.monitor)}
}

// followingKeys runs a role while it follows the keys of all accounts.
func (w *dashboardServer) followingKeys(ctx context.Context, run func(context.Context) error) error {
	for _, s := range w.stores {
		inner := run
		run = func(ctx context.Context) error { return s.followingKey(ctx, w.log, inner) }
	}
	return run(ctx)
}

func (w *dashboardServer) url() string {
	return w.tls.Scheme() + "://" + setup.Public(w.listener) + "/"
}

// Close closes the listener.
func (w *dashboardServer) Close() error { return w.listener.Close() }
