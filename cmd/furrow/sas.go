package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/sas/endpoint"
	"furrow/tables/schema"
)

func sasCommand() *cli.Command {
	return &cli.Command{
		Name:  "sas",
		Usage: "Run the token endpoint",
		Description: `Devices request tokens when they boot and before a token expires; /openapi.json describes the API. Any
number of endpoints may run side by side. The endpoint also repairs the stored access policies of the tokens
and completes revocations of other processes. On SIGINT or SIGTERM it completes the requests in progress and
exits.` + examples(
			"sas",
			"sas --listen 0.0.0.0:443 --tls cert.pem,key.pem --storage env:AZURE_STORAGE"),
		Flags: append(append(storageFlags(), endpointFlags()...), metricsFlag(), jsonFlag(), verboseFlag(), logFormatFlag(),
			stopWithInputFlag()),
		Action: serveTokens,
	}
}

// endpointFlags belong to every command that serves devices.
func endpointFlags() []cli.Flag {
	return append(masterFlags(), listenFlag("127.0.0.1:10080", "a free port"), tlsFlag(), behindProxyFlag(),
		deviceCAFlag(), tableURLFlag(),
		&cli.IntFlag{Name: "rate", Value: endpoint.DefaultRate,
			Usage: "Maximum `REQUESTS` per second of all devices; a burst may be twice that"},
		&cli.IntFlag{Name: "device-rate", Value: endpoint.DefaultDeviceRate,
			Usage: fmt.Sprintf("Maximum `REQUESTS` per minute of one device; a burst may be %d", endpoint.DeviceBurst)})
}

func serveTokens(c *cli.Context) (err error) {
	limits, err := tokenLimits(c)
	if err != nil {
		return err
	}
	if err := cmp.Or(checkTLS(c), checkDeviceCA(c)); err != nil {
		return err
	}
	log := logFor(c)
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	s, err := openStorage(c, hooksOf(m.Monitor))
	if err != nil {
		return err
	}
	service, err := openTokenService(c.Context, c, s, c.String("table-url"), log)
	if err != nil {
		return err
	}
	l, err := listenForDevices(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, l.Close)
	tls, err := openTLS(c, tlsDirectory(c), log)
	if err != nil {
		return err
	}
	m.Monitor.Certificate(tls)
	if err := service.acceptCertificates(c, log); err != nil {
		return err
	}
	server, err := service.server(l, tls, limits, m.Monitor, log)
	if err != nil {
		return err
	}
	screen := service.screen(tls.Scheme()+"://"+setup.Public(l), tls)
	if err := screen.record(c, l); err != nil {
		return err
	}
	if err := printScreen(c, screen, screen.text()); err != nil {
		return err
	}
	paceCollector()
	return m.While(c.Context, service.Issuer.Ready, func(ctx context.Context) error {
		return roles.Together(ctx, server.Run, service.keepPolicies, service.followKey(log), limitMemory(tokenMemory))
	})
}

// tokenLimits reads the flags of limits.
func tokenLimits(c *cli.Context) (endpoint.Limits, error) {
	return endpoint.Limits{Rate: c.Int("rate"), DeviceRate: c.Int("device-rate")},
		between(c, 1, 1_000_000, "rate", "device-rate")
}

// A tokenService issues tokens for the devices of one account.
type tokenService struct {
	*stores
	Issuer   *sas.Issuer
	Policies *sas.Policies
	master   string // source of the master key
}

// openTokenService opens the service. Its tokens are for the Table service at tableURL; empty is the account's
// own.
func openTokenService(ctx context.Context, c *cli.Context, s *stores, tableURL string, log *slog.Logger) (*tokenService,
	error) {
	o := &tokenService{stores: s, Policies: s.policies()}
	n := s.enrollments()
	dir, isNew := storageDirectory(c), false
	if dir != "" { // elsewhere no master key is created, and an endpoint starts even if storage is unavailable
		all, err := n.All(ctx)
		if err != nil {
			return nil, err
		}
		isNew = len(all) == 0
	}
	var err error
	if n.SealingKey, o.master, err = setup.OpenMaster(c.String("master-key-file"), dir, isNew); err != nil {
		return nil, err
	}
	if o.master != setup.MasterVariable {
		if n.Reread, err = setup.FollowMaster(o.master, log); err != nil {
			return nil, err
		}
	}
	if err := o.checkKey(ctx, n, log); err != nil {
		return nil, err
	}
	o.Issuer, err = s.issuer(tableURL, n, o.Policies)
	switch {
	case err != nil && c.String("table-url") != "":
		return nil, usagef(c, "--table-url: %v", err)
	case errors.Is(err, sas.ErrInsecureURL):
		return nil, fmt.Errorf("%w: serve storage with --tls self-signed, or name the https URL of a proxy with --table-url",
			err)
	}
	return o, err
}

// keepPolicies keeps the stored access policies. Only the account's key can, and without one the tokens have none.
func (o *tokenService) keepPolicies(ctx context.Context) error {
	if o.Account.Key == "" {
		<-ctx.Done()
		return nil
	}
	return o.Policies.Run(ctx)
}

// checkKey warns of enrollments whose tokens cannot be signed without the account's key, and fails if there are no
// others.
func (o *tokenService) checkKey(ctx context.Context, n *sas.Enrollments, log *slog.Logger) error {
	switch {
	case o.Account.Key != "":
		return nil
	case o.Account.SAS != "":
		return errors.New("a SAS signs no tokens: use a connection string with an AccountKey, or the account's URL with " +
			"an Entra identity")
	}
	all, err := n.All(ctx)
	if err != nil {
		return err
	}
	signs := false
	for _, e := range all {
		if signs = signs || e.AtExpiry; !e.AtExpiry {
			err = fmt.Errorf("enrollment %s: %w", e.ID, sas.ErrNoKey)
			log.WarnContext(ctx, "enrollment gets no tokens", "enrollment", e.ID, "error", sas.ErrNoKey)
		}
	}
	if signs {
		return nil
	}
	return cmp.Or(err, errors.New("no enrollment yet: without the account's key, create one with furrow enrollment add "+
		"--revocation at-expiry"))
}

// server returns a server for devices on a listener, which it closes.
func (o *tokenService) server(l net.Listener, tls *setup.TLS, limits endpoint.Limits, m *monitor.Monitor,
	log *slog.Logger) (endpoint.Server, error) {
	handler, err := endpoint.New(endpoint.Config{Issuer: o.Issuer, Ready: o.Issuer.Ready, Limits: limits,
		Registry: m.Registry, Log: log, Collectors: policyMetrics(o.Policies)})
	return endpoint.Server{Handler: handler, Listener: l, TLS: o.serverConfig(tls), Log: log}, err
}

// followKey returns a function that follows the account's key, and says when the last token of the former one ends.
func (o *tokenService) followKey(log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		return o.keys.follow(ctx, log, func(ctx context.Context) {
			var life time.Duration = schema.MaxLife
			if all, err := o.enrollments().All(ctx); err == nil {
				life = 0
				for _, e := range all {
					life = max(life, e.Life)
				}
			}
			log.InfoContext(ctx, "tokens of the former key end; devices get others before", "by", time.Now().Add(life).UTC())
		})
	}
}

// listenForDevices listens on --listen. It refuses to send tokens over a network unencrypted.
func listenForDevices(c *cli.Context) (net.Listener, error) {
	address, err := addressFlag(c, "listen")
	if err != nil {
		return nil, err
	}
	return listenProtected(c, "listen", address, c.String("tls") != tlsOff)
}

// A tokenScreen is printed when the token endpoint has started.
type tokenScreen struct {
	Endpoint  string     `json:"endpoint"` // URL for devices
	Table     string     `json:"table"`    // URL of the Table service that they are given
	Account   string     `json:"account"`
	Storage   string     `json:"storage"`   // URL of the Table service that the endpoint uses
	MasterKey string     `json:"masterKey"` // its source, never the key
	TLS       *tlsScreen `json:"tls,omitempty"`
}

// screen describes an endpoint that devices reach at a URL.
func (o *tokenService) screen(url string, tls *setup.TLS) tokenScreen {
	return tokenScreen{Endpoint: url, Account: o.Account.Name, Storage: o.Account.Table, MasterKey: o.master,
		Table: o.Issuer.URL, TLS: tlsScreenOf(tls)}
}

// record writes the endpoint's URL into the storage directory, for furrow device add, and warns of a Table
// service that devices cannot reach.
func (s tokenScreen) record(c *cli.Context, l net.Listener) error {
	if setup.Exposed(l) && setup.OnLoopback(s.Table) {
		fmt.Fprintf(c.App.ErrWriter, "warning: devices on other machines are told to write to %s, which they cannot reach: "+
			"set --table-url to the Table service as they reach it.\n", s.Table)
	}
	if dir := storageDirectory(c); dir != "" {
		return setup.WriteEndpoint(dir, s.Endpoint)
	}
	return nil
}

func (s tokenScreen) text() string {
	return fmt.Sprintf("Token endpoint of storage account %q\n\n", s.Account) + fieldLines(12, [][2]string{
		{"endpoint", s.Endpoint}, {"tables", s.Table + " (for devices)"}, {"storage", s.Storage},
		{"master key", s.MasterKey}}) + s.TLS.text("Devices")
}
