package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/sas/endpoint"
)

func sasCommand() *cli.Command {
	return &cli.Command{
		Name:  "sas",
		Usage: "give devices their tokens",
		Description: "Devices ask it when they boot, and when their token is about to end; /openapi.json says how. Any number may\n" +
			"run side by side. It looks after the stored access policies that tokens hang on, and carries on revocations\n" +
			"that another process has begun. It runs until it gets SIGINT or SIGTERM, and then answers what it has begun.",
		Flags: append(append(storageFlags(), masterFlags()...),
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:10080", Usage: "`ADDR` as host:port; port 0 takes a free port, no host is every address of this machine"},
			&cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (made and kept in tls of the directory of --storage, or of " + defaultStorage + "), or `CERT,KEY`, two PEM files"},
			&cli.BoolFlag{Name: "behind-proxy", Usage: "allow plain HTTP on an address that other machines reach: a proxy in front of it speaks TLS with devices"},
			tableURLFlag(),
			&cli.IntFlag{Name: "rate", Value: endpoint.DefaultRate, Usage: "most `REQUESTS` a second of all devices; a burst may be twice that"},
			&cli.IntFlag{Name: "device-rate", Value: endpoint.DefaultDeviceRate, Usage: fmt.Sprintf("most `REQUESTS` a minute of one device; a burst may be %d", endpoint.DeviceBurst)},
			&cli.BoolFlag{Name: "json", Usage: "print where it listens as one line of JSON"},
			&cli.BoolFlag{Name: "verbose", Usage: "log every request"},
			stopWithInputFlag()),
		Action: serveTokens,
	}
}

func serveTokens(c *cli.Context) (err error) {
	limits, err := tokenLimits(c)
	if err != nil {
		return err
	}
	if err := checkTLS(c); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: logLevel(c)}))
	metrics := endpoint.NewMetrics()
	office, err := openOffice(c, log, watcher{Table: metrics.CountTable})
	if err != nil {
		return err
	}
	handler, err := endpoint.New(endpoint.Config{Issuer: office.Issuer, Ready: office.Issuer.Ready, Limits: limits,
		Metrics: metrics, Log: log, Collectors: policyMetrics(office.Policies)})
	if err != nil {
		return err
	}
	l, err := listenForDevices(c)
	if err != nil {
		return err
	}
	defer closing(&err, l.Close)
	tls, err := protection(c, tlsDirectory(c), log)
	if err != nil {
		return err
	}
	if err := office.announce(c, l, tls); err != nil {
		return err
	}
	server := endpoint.Server{Handler: handler, Listener: l, Log: log}
	if tls.TLS != nil {
		server.TLS = tls.Config
	}
	ctx, stop := untilStopped(c)
	defer stop()
	return sideBySide(ctx, server.Run, office.Policies.Run)
}

// tokenLimits are those of the flags.
func tokenLimits(c *cli.Context) (endpoint.Limits, error) {
	limits := endpoint.Limits{Rate: c.Int("rate"), DeviceRate: c.Int("device-rate")}
	const most = 1_000_000
	if limits.Rate < 1 || limits.Rate > most {
		return limits, usagef(c, "--rate is %d; it must be between 1 and %d", limits.Rate, most)
	}
	if limits.DeviceRate < 1 || limits.DeviceRate > most {
		return limits, usagef(c, "--device-rate is %d; it must be between 1 and %d", limits.DeviceRate, most)
	}
	return limits, nil
}

// An office issues tokens for the devices of one account.
type office struct {
	*stores
	Issuer   *sas.Issuer
	Policies *sas.Policies
	master   string // where the master key was
}

func openOffice(c *cli.Context, log *slog.Logger, w watcher) (*office, error) {
	s, err := openStorage(c, w)
	if err != nil {
		return nil, err
	}
	o := &office{stores: s, Policies: s.policies(log)}
	n := s.enrollments(sas.Master{})
	fresh, err := nobodyEnrolled(c, n)
	if err != nil {
		return nil, err
	}
	if n.Master, o.master, err = openMaster(c, fresh); err != nil {
		return nil, err
	}
	if o.Issuer, err = s.issuer(c.String("table-url"), n, o.Policies); err != nil {
		return nil, notForTokens(c, err)
	}
	return o, nil
}

// nobodyEnrolled tells a fleet that is yet to begin, for which a master key may be
// made. Only a directory is asked: elsewhere none can be made, and an endpoint
// should start although storage is away.
func nobodyEnrolled(c *cli.Context, n *sas.Enrollments) (bool, error) {
	if storageDirectory(c) == "" {
		return false, nil
	}
	all, err := n.All(c.Context)
	return len(all) == 0, err
}

// notForTokens says what to do where the account, or its URL, is no good for tokens.
func notForTokens(c *cli.Context, err error) error {
	switch url := c.String("table-url"); {
	case url != "":
		return usagef(c, "--table-url: %v", err)
	case strings.Contains(err.Error(), "overheard"):
		return fmt.Errorf("%w: serve storage with --tls self-signed, or name the https URL of a proxy with --table-url", err)
	}
	return err
}

// listenForDevices refuses to send tokens over a network in the clear.
func listenForDevices(c *cli.Context) (net.Listener, error) {
	address := c.String("listen")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, usagef(c, "--listen: %v", err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, endpointAdvice(err)
	}
	if c.String("tls") == tlsOff && exposed(l) && !c.Bool("behind-proxy") {
		return nil, errors.Join(usagef(c, "--listen %s can be reached from other machines, and without TLS tokens would be overheard: use --tls self-signed or --tls CERT,KEY, or listen on 127.0.0.1, or say --behind-proxy where a proxy in front of it speaks TLS", address), l.Close())
	}
	return l, nil
}

// endpointAdvice says what can be done about addresses that cannot be had.
func endpointAdvice(err error) error {
	for cause, advice := range map[error]string{
		syscall.EADDRINUSE:    "another program listens there: stop it, or choose another port with --listen",
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with --listen",
		syscall.EACCES:        "this user may not do that: choose a port above 1023 with --listen",
	} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, advice)
		}
	}
	return err
}

// tlsDirectory is where a self-signed endpoint keeps its certificates: with storage
// of this machine, beside its own, so that devices have one authority to trust.
func tlsDirectory(c *cli.Context) string {
	if dir := storageDirectory(c); dir != "" {
		return dir
	}
	return defaultStorage
}

// sideBySide runs all until ctx ends or one fails, and joins them.
func sideBySide(ctx context.Context, runs ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			defer stop()
			errs[i] = run(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
