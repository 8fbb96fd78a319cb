package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/sas/endpoint"
)

func sasCommand() *cli.Command {
	return &cli.Command{
		Name:  "sas",
		Usage: "Run the token endpoint",
		Description: "Devices request tokens when they boot and before a token expires; /openapi.json describes the API. " +
			"Any number of\n" +
			"endpoints may run side by side. The endpoint also repairs the stored access policies of the tokens and completes\n" +
			"revocations of other processes. On SIGINT or SIGTERM it completes the requests in progress and exits." +
			examples(
				"sas",
				"sas --listen 0.0.0.0:443 --tls cert.pem,key.pem --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(storageFlags(), endpointFlags()...),
			&cli.BoolFlag{Name: "json", Usage: "Print its addresses as a line of JSON"},
			&cli.BoolFlag{Name: "verbose", Usage: "Log every request"},
			stopWithInputFlag()),
		Action: serveTokens,
	}
}

// endpointFlags belong to every command that serves devices.
func endpointFlags() []cli.Flag {
	return append(masterFlags(),
		&cli.StringFlag{Name: "listen", Value: "127.0.0.1:10080",
			Usage: "`ADDR` as host:port; port 0 selects a free port, and without a host it listens on all addresses"},
		&cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (kept in the tls folder of the directory of " +
			"--storage or of " + defaultStorage + "), or `CERT,KEY`, two PEM files"},
		&cli.BoolFlag{Name: "behind-proxy", Usage: "Allow plain HTTP on an address that other machines reach, because a " +
			"proxy in front of it terminates TLS"},
		tableURLFlag(),
		&cli.IntFlag{Name: "rate", Value: endpoint.DefaultRate,
			Usage: "Maximum `REQUESTS` per second of all devices; a burst may be twice that"},
		&cli.IntFlag{Name: "device-rate", Value: endpoint.DefaultDeviceRate,
			Usage: fmt.Sprintf("Maximum `REQUESTS` per minute of one device; a burst may be %d",
				endpoint.DeviceBurst)})
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
	s, err := openStorage(c, operationHooks{Table: metrics.CountTable})
	if err != nil {
		return err
	}
	office, err := openTokenService(c, s, c.String("table-url"), log)
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
	if err := leaveEndpoint(c, tls.scheme()+"://"+reach(l)); err != nil {
		return err
	}
	server, err := office.server(l, tls, limits, metrics, log)
	if err != nil {
		return err
	}
	paceCollectorWithin(tokenMemory)
	ctx, stop := untilStopped(c)
	defer stop()
	return roles.Together(ctx, server.Run, office.Policies.Run)
}

// tokenMemory is the endpoint's soft memory limit in bytes, for when thousands of devices boot
// at once. It exceeds the live memory at that time, which the limits of connections and devices
// bound.
const tokenMemory = 512 << 20

// paceCollectorWithin is paceCollector with a soft memory limit, unless GOMEMLIMIT sets one.
func paceCollectorWithin(memory int64) {
	paceCollector()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
}

// tokenLimits reads the flags of limits.
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

// An tokenService issues tokens for the devices of one account.
type tokenService struct {
	*stores
	Issuer   *sas.Issuer
	Policies *sas.Policies
	master   string // source of the master key
}

// openTokenService opens an office. Its tokens are for the Table service at tableURL; empty is the
// account's own.
func openTokenService(c *cli.Context, s *stores, tableURL string, log *slog.Logger) (*tokenService, error) {
	o := &tokenService{stores: s, Policies: s.policies(log)}
	n := s.enrollments(sas.SealingKey{})
	fresh, err := nobodyEnrolled(c, n)
	if err != nil {
		return nil, err
	}
	if n.SealingKey, o.master, err = openMaster(c, fresh); err != nil {
		return nil, err
	}
	if o.Issuer, err = s.issuer(tableURL, n, o.Policies); err != nil {
		return nil, notForTokens(c, err)
	}
	return o, nil
}

// server returns a server for devices on a listener, which it closes.
func (o *tokenService) server(l net.Listener, g serverTLS, limits endpoint.Limits, metrics *endpoint.Metrics,
	log *slog.Logger) (endpoint.Server, error) {
	handler, err := endpoint.New(endpoint.Config{Issuer: o.Issuer, Ready: o.Issuer.Ready, Limits: limits,
		Metrics: metrics, Log: log, Collectors: policyMetrics(o.Policies)})
	s := endpoint.Server{Handler: handler, Listener: l, Log: log}
	if g.TLS != nil {
		s.TLS = g.Config
	}
	return s, err
}

// nobodyEnrolled reports whether a fleet has no enrollments yet, so that a master key may be
// created. It only reads local directories: elsewhere no key is created, and an endpoint should
// start even if storage is unavailable.
func nobodyEnrolled(c *cli.Context, n *sas.Enrollments) (bool, error) {
	if storageDirectory(c) == "" {
		return false, nil
	}
	all, err := n.All(c.Context)
	return len(all) == 0, err
}

// notForTokens adds advice if the account or its URL cannot be used for tokens.
func notForTokens(c *cli.Context, err error) error {
	switch url := c.String("table-url"); {
	case url != "":
		return usagef(c, "--table-url: %v", err)
	case errors.Is(err, sas.ErrInsecureURL):
		return fmt.Errorf("%w: serve storage with --tls self-signed, or name the https URL of a proxy with --table-url", err)
	}
	return err
}

// listenForDevices listens on --listen. It refuses to send tokens over a network unencrypted.
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
		return nil, errors.Join(usagef(c, "--listen %s can be reached from other machines, and without TLS tokens could be "+
			"intercepted: use --tls self-signed or "+
			"--tls CERT,KEY, or listen on 127.0.0.1, or use --behind-proxy if a proxy in front of it terminates TLS", address),
			l.Close())
	}
	return l, nil
}

// leaveEndpoint records the endpoint's URL in the directory of --storage, for furrow device add.
func leaveEndpoint(c *cli.Context, url string) error {
	dir := storageDirectory(c)
	if dir == "" {
		return nil
	}
	return setup.WriteEndpoint(dir, url)
}

// endpointAdvice adds advice to errors of listening on --listen.
func endpointAdvice(err error) error { return listenAdvice(err, "--listen") }

// listenAdvice adds advice to errors of listening on the address of a flag.
func listenAdvice(err error, flag string) error {
	for cause, advice := range map[error]string{
		syscall.EADDRINUSE:    "another program listens there: stop it, or choose another port with " + flag,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + flag,
		syscall.EACCES:        "this user may not listen there: choose a port above 1023 with " + flag,
	} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, advice)
		}
	}
	return err
}

// tlsDirectory is the directory for self-signed certificates. With local storage it is shared
// with storage, so that devices need to trust only one authority.
func tlsDirectory(c *cli.Context) string {
	if dir := storageDirectory(c); dir != "" {
		return dir
	}
	return defaultStorage
}
