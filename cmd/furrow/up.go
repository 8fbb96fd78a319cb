package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas/endpoint"
	"furrow/tables/local"
	"furrow/worker"
)

func upCommand() *cli.Command {
	return &cli.Command{
		Name:  "up",
		Usage: "Run storage, token endpoint, scheduler, worker and dashboard in one process",
		Description: `Serves storage from a directory, issues device tokens, schedules runs, processes them, and serves the
dashboard. If --storage is a connection string or a URL, it uses that account instead of a directory. It
runs until SIGINT or SIGTERM; after a crash, it continues where it was. It stores the file of --config as a
new generation of the configuration unless it has been stored before, and then follows the newest
generation.` + examples(
			"up",
			"up --listen 0.0.0.0:10080 --tls self-signed",
			"up --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(append(fleetFlags(), endpointFlags()...), secretFlags()...),
			&cli.IntFlag{Name: "storage-port", Value: 10000, Usage: "`PORT` for blobs; queues and tables use the next two; " +
				"tables are on the host of --listen; 0 picks three free ports"},
			allServicesFlag(), azureLimitsFlag(),
			&cli.StringFlag{Name: "public-url", DefaultText: "that of --listen",
				Usage: "`URL` of the endpoint as devices reach it; its host is also used for the Table service, with the port " +
					"of --storage-port, unless --table-url is given"},
			upConcurrencyFlag(),
			boolFlag("no-worker", "Run no worker in this process"),
			&cli.StringFlag{Name: "dashboard", Value: defaultDashboard,
				Usage: "`ADDR` of the dashboard as host:port; port 0 picks a free port. On an address that other machines can " +
					"reach it requires --tls, and everybody signs in (see furrow access)"},
			boolFlag("no-dashboard", "Serve no dashboard"),
			tilesFlag(),
			&cli.StringFlag{Name: "backup-to", Usage: "Write backups of the storage directory to new directories below " +
				"`DIR`: see furrow backup (default: none)"},
			durationFlag("backup-every", 4*time.Hour, time.Minute, "`TIME` between two backups"),
			&cli.IntFlag{Name: "backup-keep", Value: 2, Usage: "Complete `BACKUPS` to keep below --backup-to"},
			metricsFlag(),
			jsonFlag(),
			verboseFlag(), logFormatFlag(), stopWithInputFlag()),
		Action: up,
	}
}

func up(c *cli.Context) (err error) {
	limits, err := checkUp(c)
	if err != nil {
		return err
	}
	log := logFor(c)
	l, err := listenForDevices(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, l.Close)
	tls, err := openTLS(c, tlsDirectory(c), log)
	if err != nil {
		return err
	}
	ctx := c.Context
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	m.Monitor.Certificate(tls)
	h := upServer{c: c, devices: l, tls: tls, limits: limits, metrics: m, log: log}
	if !c.Bool("no-dashboard") && c.String("dashboard") != "" {
		if h.dashboard, err = openDashboard(c, "dashboard", tls != nil, m.Monitor, log); err != nil {
			return err
		}
		defer setup.Closing(&err, h.dashboard.Close)
		if setup.Exposed(h.dashboard.listener) { // a browser on this machine needs no TLS
			h.dashboard.tls = tls
		}
	}
	if !setup.IsDirectory(c.String("storage")) {
		return h.run(ctx, "")
	}
	host, _, _ := net.SplitHostPort(c.String("listen")) // it listens already
	address := net.JoinHostPort(host, strconv.Itoa(c.Int("storage-port")))
	counted := m.Monitor.Embedded()
	config := local.Config{Dir: c.String("storage"), Log: log, AzureLimits: c.Bool(azureLimits), OnAnswer: counted.Count}
	e, err := setup.OpenEmbedded(config, address, c.Bool(allServices), tls)
	if err != nil {
		return storageAdvice(err, "--storage", "--storage-port")
	}
	defer setup.Closing(&err, e.Close)
	counted.Opened(e.Usage)
	paceCollector()
	public, _ := url.Parse(c.String("public-url")) // checkUp has parsed it
	tableURL := e.TableURL(public.Hostname(), tls)
	h.storage, h.backups = e, newBackups(c, e.Server, m.Monitor, log)
	return e.ServeWhile(ctx, func(ctx context.Context) error {
		return roles.Together(ctx,
			func(ctx context.Context) error { return h.run(ctx, tableURL) }, limitMemory(upMemory))
	})
}

// jobsPerProcessor is how many jobs at a time are enough for storage in the same process. Nobody waits for a network
// there, and more jobs only take more memory: 16 and 32 fold equally fast on two processors (go run ./cmd/bench
// --clients).
const jobsPerProcessor = 8

func upConcurrencyFlag() cli.Flag {
	f := concurrencyFlag()
	f.DefaultText = fmt.Sprintf("%d, or for a storage directory at most %d per processor", f.Value, jobsPerProcessor)
	return f
}

// upJobs returns how many jobs a pipeline does at a time.
func upJobs(c *cli.Context) int {
	if c.IsSet("jobs") || !setup.IsDirectory(c.String("storage")) {
		return c.Int("jobs")
	}
	return min(worker.DefaultSize, jobsPerProcessor*runtime.GOMAXPROCS(0))
}

// checkUp checks flags before anything is opened or created.
func checkUp(c *cli.Context) (endpoint.Limits, error) {
	if err := cmp.Or(between(c, 1, 1000, "jobs"), between(c, 0, 65533, "storage-port"),
		between(c, 1, 10_000, "backup-keep"), checkBackups(c), checkTLS(c), checkDeviceCA(c)); err != nil {
		return endpoint.Limits{}, err
	}
	if public := c.String("public-url"); public != "" {
		if u, err := url.Parse(public); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return endpoint.Limits{}, usagef(c, "--public-url is %q; it takes a URL such as https://furrow.example:10080",
				public)
		}
	}
	file, err := configFile(c)
	if err != nil {
		return endpoint.Limits{}, err
	}
	if err := file.Check(); err != nil {
		return endpoint.Limits{}, err
	}
	if dir := storageDirectory(c); dir != "" {
		if err := checkPrivate(dir); err != nil {
			return endpoint.Limits{}, err
		}
	}
	return tokenLimits(c)
}

// An upServer runs everything of furrow up except storage.
type upServer struct {
	c         *cli.Context
	devices   net.Listener // for token requests
	tls       *setup.TLS
	limits    endpoint.Limits
	dashboard *dashboardServer // may be nil
	storage   *setup.Embedded  // of a directory; may be nil
	backups   *backups         // of a directory; may be nil
	metrics   *monitor.Server
	log       *slog.Logger
}

// run runs until ctx ends. Devices are told to write to the Table service at tableURL; empty is the account's
// own.
func (h upServer) run(ctx context.Context, tableURL string) error {
	m := h.metrics.Monitor
	figures := &worker.Figures{Worker: roles.WorkerName()}
	f, s, err := openFleetWith(ctx, h.c, h.storage, true, hooksOf(m), hooksOfFigures(figures))
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	f.Policies, figures.Runs, figures.Log = nil, f.Runs(), h.log // the endpoint reconciles policies
	end, err := trace(ctx, h.c, f, s)
	if err != nil {
		return err
	}
	defer end()
	follows(m, f.Stored)
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	o, err := openTokenService(ctx, h.c, s, cmp.Or(h.c.String("table-url"), tableURL), h.log)
	if err != nil {
		return err
	}
	if err := o.acceptCertificates(h.c, h.log); err != nil {
		return err
	}
	f.Early = &worker.Early{}
	o.Issuer.OnFirst = f.Early.Ask
	server, err := o.server(h.devices, h.tls, h.limits, m, h.log)
	if err != nil {
		return err
	}
	runs := []func(context.Context) error{server.Run, o.Policies.Run, o.followKey(h.log),
		func(ctx context.Context) error { return f.Schedule(ctx, 0) }}
	if h.dashboard != nil {
		pages, err := h.dashboard.server(h.storage)
		if err != nil {
			return err
		}
		runs = append(runs, pages.Run,
			func(ctx context.Context) error { return h.dashboard.stores[0].keys.follow(ctx, h.log, nil) })
	}
	if h.backups != nil {
		runs = append(runs, h.backups.run) // not before the master key is there: a backup whose keys change fails
	}
	m.Watch(s.status(h.c, f.Stored))
	if !h.c.Bool("no-worker") {
		runs = append(runs, func(ctx context.Context) error {
			return f.Work(ctx, roles.Work{Name: figures.Worker, Figures: figures, Size: upJobs(h.c),
				Lease: worker.DefaultLease, Monitor: m, OnResult: m.CountJob})
		})
	}
	if err := h.announce(ctx, o, f); err != nil {
		return err
	}
	return h.metrics.While(ctx, o.Issuer.Ready, func(ctx context.Context) error { return roles.Together(ctx, runs...) })
}

// endpoint returns the URL at which devices reach the endpoint.
func (h upServer) endpoint() string {
	return cmp.Or(h.c.String("public-url"), h.tls.Scheme()+"://"+setup.Public(h.devices))
}
