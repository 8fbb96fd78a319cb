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
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables/schema"
	"furrow/worker/dashboard"
	"furrow/worker/dashboard/model"
)

// A dashboardServer serves the dashboard.
type dashboardServer struct {
	c        *cli.Context
	address  string
	flag     string // that says the address
	secrets  dashboard.Secrets
	log      *slog.Logger
	tls      serverTLS
	listener net.Listener
}

// open listens. It refuses to show a fleet to whoever comes by, or to have secrets
// overheard.
func (w *dashboardServer) open(protected, proxied bool) (err error) {
	if _, _, err := net.SplitHostPort(w.address); err != nil {
		return usagef(w.c, "%s: %v", w.flag, err)
	}
	if w.listener, err = net.Listen("tcp", w.address); err != nil {
		return listenAdvice(err, w.flag)
	}
	if !exposed(w.listener) {
		return nil
	}
	switch {
	case !w.secrets.Any():
		err = usagef(w.c, "%s %s can be reached from other machines, and everybody there could look at the fleet: give a "+
			"--password-file or a --token-file, or listen on 127.0.0.1", w.flag, w.address)
	case !protected && !proxied:
		err = usagef(w.c, "%s %s can be reached from other machines, and without TLS the password or token would be "+
			"overheard: use --tls self-signed or --tls CERT,KEY, or listen on 127.0.0.1, or say --behind-proxy where a proxy "+
			"in front of it speaks TLS", w.flag, w.address)
	default:
		return nil
	}
	return errors.Join(err, w.listener.Close())
}

// server reads through clients of its own, so that no other command's figures have
// what it reads.
func (w *dashboardServer) server() (*dashboard.Server, error) {
	if w == nil {
		return nil, nil
	}
	file, err := configFile(w.c)
	if err != nil {
		return nil, err
	}
	s, err := openStorage(w.c, operationHooks{Table: model.CountTable, Queue: model.CountQueue})
	if err != nil {
		return nil, err
	}
	holds, err := s.holding(w.c.Context, file)
	if err != nil {
		return nil, err
	}
	chosen := w.c.StringSlice("pipeline")
	pipelines := viewedOf(holds.Config, chosen)
	if len(pipelines) < len(chosen) {
		return nil, usagef(w.c, "--pipeline: not all of %s are in the configuration", strings.Join(chosen, ", "))
	}
	follower := generations.NewFollower(s.generationsOf(), holds, schema.Process{}, w.log)
	newer := func(ctx context.Context) ([]model.Pipeline, bool, error) {
		was, _ := follower.Current()
		err := follower.Look(ctx)
		is, _ := follower.Current()
		return viewedOf(is.Config, chosen), is.Generation > was.Generation, err
	}
	d, err := dashboard.New(dashboard.Config{
		Model: model.New(model.Config{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: pipelines,
			Newer: newer, Silent: durationOf(w.c, "silent-after"), Log: w.log}),
		Secrets: w.secrets, Loopback: !exposed(w.listener) &&
			!w.secrets.Any(), Storage: s.Account.Table, Version: readVersion().Version, Log: w.log})
	if err != nil {
		return nil, err
	}
	server := &dashboard.Server{Dashboard: d, Listener: w.listener}
	if w.tls.TLS != nil {
		server.TLS = w.tls.Config
	}
	return server, nil
}

// viewedOf are the pipelines of a configuration as pages know them, those of the
// names alone if there are any.
func viewedOf(c *config.Config, names []string) (all []model.Pipeline) {
	for _, p := range c.Pipelines {
		if len(names) == 0 || slices.Contains(names, string(p.Name)) {
			all = append(all, viewed(p))
		}
	}
	return all
}

// viewed is a pipeline as pages know it.
func viewed(p config.Pipeline) model.Pipeline {
	v := model.Pipeline{Name: p.Name, Cadence: p.Cadence, Sensors: p.Meant(), Units: map[string]string{}}
	for name, s := range p.Sensors {
		if s.Unit != "" {
			v.Units[name] = s.Unit
		}
	}
	for _, processor := range p.Processors {
		v.Latest = v.Latest || processor.Writes(latest.Processor.Tables[0])
		if processor.Writes(rollup.Processor.Tables[0]) {
			v.Windows = append(v.Windows, processor.Sizes()...)
		}
	}
	return v
}

func (w *dashboardServer) url() string { return w.tls.scheme() + "://" + reach(w.listener) + "/" }

// openDashboard is where up shows its fleet; nil where it shall not. A browser of this
// machine needs no TLS.
func openDashboard(c *cli.Context, tls serverTLS, log *slog.Logger) (*dashboardServer, error) {
	if c.Bool("no-dashboard") || c.String("dashboard") == "" {
		return nil, nil
	}
	secrets, err := readSecrets(c)
	if err != nil {
		return nil, err
	}
	w := &dashboardServer{c: c, address: c.String("dashboard"), flag: "--dashboard", secrets: secrets, log: log}
	if err := w.open(tls.TLS != nil, c.Bool("behind-proxy")); err != nil {
		return nil, err
	}
	if exposed(w.listener) {
		w.tls = tls
	}
	return w, nil
}

// Close stops listening; of none, it does nothing.
func (w *dashboardServer) Close() error {
	if w == nil {
		return nil
	}
	return w.listener.Close()
}
