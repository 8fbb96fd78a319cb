package main

import (
	"context"
	"log/slog"
	"net"
	"net/url"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas/endpoint"
	"furrow/worker"
)

func upCommand() *cli.Command {
	return &cli.Command{
		Name:  "up",
		Usage: "Run storage, token endpoint, scheduler, worker and dashboard in one process",
		Description: "Serves storage from a directory, issues device tokens, schedules runs, processes them, and serves " +
			"the dashboard.\n" +
			"If --storage is a connection string or a URL, it uses that account instead of a directory. It runs until SIGINT " +
			"or\n" +
			"SIGTERM; after a crash, it continues where it was. It stores the file of --config as a new generation of the\n" +
			"configuration unless it has been stored before, and then follows the newest generation." +
			examples(
				"up",
				"up --listen 0.0.0.0:10080 --tls self-signed",
				"up --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(append(fleetFlags(), endpointFlags()...), secretFlags()...),
			&cli.IntFlag{Name: "storage-port", Value: 10000, Usage: "`PORT` for blobs, on the host of --listen; queues and " +
				"tables use the next two; 0 picks three free ports"},
			&cli.StringFlag{Name: "public-url", DefaultText: "that of --listen",
				Usage: "`URL` of the endpoint as devices reach it; its host is also used for the Table service, unless " +
					"--table-url is given"},
			&cli.IntFlag{Name: "jobs", Value: 32, Usage: "Maximum concurrent `JOBS` per pipeline"},
			&cli.BoolFlag{Name: "no-worker", Usage: "Run no worker in this process"},
			&cli.StringFlag{Name: "dashboard", Value: defaultDashboard,
				Usage: "`ADDR` of the dashboard as host:port; port 0 picks a free port. An address that other machines can reach " +
					"requires --tls, and a password or token"},
			&cli.BoolFlag{Name: "no-dashboard", Usage: "Serve no dashboard"},
			silentFlag(),
			jsonFlag(),
			verboseFlag(), stopWithInputFlag()),
		Action: up,
	}
}

func up(c *cli.Context) (err error) {
	limits, err := checkUp(c)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: logLevel(c)}))
	l, err := listenForDevices(c)
	if err != nil {
		return err
	}
	defer closing(&err, l.Close)
	tls, err := protection(c, tlsDirectory(c), log)
	if err != nil {
		return err
	}
	ctx, stop := untilStopped(c)
	defer stop()
	pages, err := openDashboard(c, tls, log)
	if err != nil {
		return err
	}
	defer closing(&err, pages.Close)
	h := upServer{c: c, door: l, tls: tls, limits: limits, dashboard: pages, log: log}
	if where := c.String("storage"); !setup.IsDirectory(where) {
		return h.run(ctx, "")
	}
	p, err := openEmbeddedStorage(c, tls, log)
	if err != nil {
		return err
	}
	defer closing(&err, p.Close)
	paceCollector()
	go keepMemory(ctx)
	return p.serve(ctx, func(ctx context.Context) error { return h.run(ctx, p.tableURL(c, tls)) })
}

// checkUp refuses flags that cannot be, before anything is opened or made.
func checkUp(c *cli.Context) (endpoint.Limits, error) {
	if size := c.Int("jobs"); size < 1 || size > 1000 {
		return endpoint.Limits{}, usagef(c, "--jobs is %d; it must be between 1 and 1000", size)
	}
	if port := c.Int("storage-port"); port < 0 || port > 65533 {
		return endpoint.Limits{}, usagef(c, "--storage-port is %d; it must be between 0 and 65533", port)
	}
	if public := c.String("public-url"); public != "" {
		if u, err := url.Parse(public); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return endpoint.Limits{}, usagef(c, "--public-url is %q; it takes a URL such as https://furrow.example:10080",
				public)
		}
	}
	if err := checkTLS(c); err != nil {
		return endpoint.Limits{}, err
	}
	if file, err := configFile(c); err != nil {
		return endpoint.Limits{}, err
	} else if _, err := file.Config(); err != nil {
		return endpoint.Limits{}, err
	}
	return tokenLimits(c)
}

// An upServer runs everything of furrow up but storage.
type upServer struct {
	c         *cli.Context
	door      net.Listener // where devices ask for tokens
	tls       serverTLS
	limits    endpoint.Limits
	dashboard *dashboardServer // nil: there is no dashboard
	log       *slog.Logger
}

// run runs it until ctx ends. Devices are told to write to the Table service at a
// URL; empty is the account's own.
func (h upServer) run(ctx context.Context, tableURL string) error {
	metrics := endpoint.NewMetrics()
	figures := &worker.Figures{Worker: roles.WorkerName()}
	h.c.Context = ctx
	f, s, err := openFleetOffering(h.c, operationHooks{Table: metrics.CountTable},
		operationHooks{Table: figures.CountTable, Queue: figures.CountQueue, Object: figures.CountObject})
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	f.Policies, f.Log, figures.Runs, figures.Log = nil, h.log, f.Runs(), h.log // the endpoint looks after policies
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	if table := h.c.String("table-url"); table != "" {
		tableURL = table
	}
	o, err := openTokenService(h.c, s, tableURL, h.log)
	if err != nil {
		return err
	}
	server, err := o.server(h.door, h.tls, h.limits, metrics, h.log)
	if err != nil {
		return err
	}
	shown, err := h.dashboard.server()
	if err != nil {
		return err
	}
	if err := h.announce(ctx, o, f); err != nil {
		return err
	}
	runs := []func(context.Context) error{server.Run, o.Policies.Run,
		func(ctx context.Context) error {
			return f.Schedule(ctx,
				0)
		}}
	if !h.c.Bool("no-worker") {
		runs = append(runs, func(ctx context.Context) error {
			return f.Work(ctx, roles.Work{Name: figures.Worker, Figures: figures, Size: h.c.Int("jobs"),
				Lease: worker.DefaultLease})
		})
	}
	if shown != nil {
		runs = append(runs, shown.Run)
	}
	return roles.Together(ctx, runs...)
}

// endpoint is the URL by which devices reach it.
func (h upServer) endpoint() string {
	if public := h.c.String("public-url"); public != "" {
		return public
	}
	return h.tls.scheme() + "://" + reach(h.door)
}
