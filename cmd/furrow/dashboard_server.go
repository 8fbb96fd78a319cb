package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/admin"
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

	stores *stores               // of server, as stored is
	stored *generations.Follower // of the configuration
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
	chosen := w.c.StringSlice("pipeline")
	pipelines := viewedOf(holds.Config, chosen)
	if len(pipelines) < len(chosen) {
		return nil, usagef(w.c, "--pipeline: not all of %s are in the configuration", strings.Join(chosen, ", "))
	}
	follower := generations.NewFollower(s.Generations(), holds, schema.Process{}, w.log)
	w.stores, w.stored = s, follower
	newer := func(ctx context.Context) ([]model.Pipeline, bool, error) {
		was, _ := follower.Current()
		err := follower.Look(ctx)
		is, _ := follower.Current()
		return viewedOf(is.Config, chosen), is.Generation > was.Generation, err
	}
	d := w.config
	d.Model = model.New(model.Config{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: pipelines,
		Newer: newer, Silent: durationOf(w.c, "silent-after"), Log: w.log})
	d.Access = &access.Directory{Store: access.NewStore(s.Tables, s.Names)}
	d.Acts = s.acts(w.log)
	d.Acts.Pipelines = w.pipelines
	d.Activity = access.NewLog(s.Tables, s.Names)
	d.OnAnswer = w.monitor.CountAnswers()
	d.Storage, d.Version, d.Log = s.Account.Table, readVersion().Version, w.log
	served, err := dashboard.New(d)
	return &dashboard.Server{Dashboard: served, Listener: w.listener, TLS: w.tls.ServerConfig()}, err
}

// pipelines returns those of the current configuration, for acts.
func (w *dashboardServer) pipelines() ([]admin.Pipeline, error) {
	is, _ := w.stored.Current()
	f, err := w.stores.Fleet(is)
	if err != nil {
		return nil, err
	}
	return adminPipelines(f)
}

// viewedOf returns the pipelines of a configuration for the dashboard: those with the names, or all.
func viewedOf(c *config.Config, names []string) (all []model.Pipeline) {
	for _, p := range c.Pipelines {
		if len(names) == 0 || slices.Contains(names, string(p.Name)) {
			all = append(all, viewed(c, p))
		}
	}
	return all
}

func viewed(c *config.Config, p config.Pipeline) model.Pipeline {
	v := model.Pipeline{Name: p.Name, Cadence: p.Cadence, Sensors: p.Meant(), Unit: p.Unit,
		Model: func(d schema.Member) string { return c.Model(d).Name }, Reports: p.Reported()}
	if p.Reports != nil {
		v.By = p.Reports.By
	}
	for _, processor := range p.Processors {
		v.Latest = v.Latest || processor.Writes(latest.Processor.Tables[0])
		v.Rates = v.Rates || processor.Writes(rate.Table)
		v.Rules = v.Rules || processor.Writes(rules.Table)
		if processor.Writes(rollup.Processor.Tables[0]) {
			v.Windows = append(v.Windows, processor.Sizes()...)
		}
	}
	return v
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
