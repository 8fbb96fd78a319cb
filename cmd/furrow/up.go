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
		Description: "It serves storage from a directory, gives devices their tokens, schedules runs, does the jobs, and shows all\n" +
			"of it in a browser. With a connection string or a URL as --storage it does all but the first, on that account.\n" +
			"It runs until it gets SIGINT or SIGTERM; after a crash, it goes on where it was.\n" +
			"It stores the file of --config if no generation of the configuration has its content, and follows the\n" +
			"generation that holds." +
			examples(
				"up",
				"up --listen 0.0.0.0:10080 --tls self-signed",
				"up --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(append(fleetFlags(), endpointFlags()...), secretFlags()...),
			&cli.IntFlag{Name: "storage-port", Value: 10000, Usage: "`PORT` of blobs, on the host of --listen; queues and tables are on the next two; 0 takes three free ones"},
			&cli.StringFlag{Name: "public-url", DefaultText: "that of --listen", Usage: "`URL` by which devices reach the endpoint; its host is also that of the Table service unless --table-url says otherwise"},
			&cli.IntFlag{Name: "jobs", Value: 32, Usage: "most `JOBS` at the same time in each pipeline"},
			&cli.BoolFlag{Name: "no-worker", Usage: "leave the jobs to workers in other processes"},
			&cli.StringFlag{Name: "dashboard", Value: defaultDashboard, Usage: "`ADDR` of the dashboard as host:port; port 0 takes a free port; on one that other machines reach it takes --tls, and a password or token"},
			&cli.BoolFlag{Name: "no-dashboard", Usage: "show nothing in a browser"},
			silentFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print where everything is as one line of JSON"},
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
			return endpoint.Limits{}, usagef(c, "--public-url is %q; it takes a URL such as https://furrow.example:10080", public)
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
	f, s, err := openFleetOffering(h.c, watcher{Table: metrics.CountTable},
		watcher{Table: figures.CountTable, Queue: figures.CountQueue, Object: figures.CountObject})
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
	o, err := openOffice(h.c, s, tableURL, h.log)
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
	runs := []func(context.Context) error{server.Run, o.Policies.Run, func(ctx context.Context) error { return f.Schedule(ctx, 0) }}
	if !h.c.Bool("no-worker") {
		runs = append(runs, func(ctx context.Context) error {
			return f.Work(ctx, roles.Work{Name: figures.Worker, Figures: figures, Size: h.c.Int("jobs"), Lease: worker.DefaultLease})
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
