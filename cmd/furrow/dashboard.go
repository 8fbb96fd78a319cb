package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/worker/dashboard"
	"furrow/worker/dashboard/view"
)

const defaultDashboard = "127.0.0.1:10090"

func dashboardCommand() *cli.Command {
	return &cli.Command{
		Name:  "dashboard",
		Usage: "show a fleet in a browser: a map, its devices, its pipelines, its tenants",
		Description: "It only reads, and only while somebody looks; /openapi.json says how programs get the same as JSON. On an\n" +
			"address that other machines reach it takes TLS, and a password or a token from whoever asks.\n\n" +
			"Examples:\n" +
			"  furrow dashboard                                          on this machine, for this machine\n" +
			"  furrow dashboard --listen :10090 --tls self-signed --password-file dashboard.password\n" +
			"  furrow dashboard --storage env:AZURE_STORAGE_CONNECTION_STRING",
		Flags: append(append(fleetFlags(), secretFlags()...),
			&cli.StringFlag{Name: "listen", Value: defaultDashboard, Usage: "`ADDR` as host:port; port 0 takes a free port, no host is every address of this machine"},
			&cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (made and kept in tls of the directory of --storage, or of " + defaultStorage + "), or `CERT,KEY`, two PEM files"},
			&cli.BoolFlag{Name: "behind-proxy", Usage: "allow plain HTTP on an address that other machines reach: a proxy in front of it speaks TLS with browsers"},
			silentFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print where it listens as one line of JSON"},
			verboseFlag(), stopWithInputFlag()),
		Action: showDashboard,
	}
}

// silentFlag is that of every command that shows pages.
func silentFlag() cli.Flag {
	return &cli.DurationFlag{Name: "silent-after", Value: view.DefaultSilent, Usage: "`TIME` after which a device counts as silent that has sent nothing"}
}

func showDashboard(c *cli.Context) (err error) {
	if err := checkTLS(c); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: logLevel(c)}))
	secrets, err := readSecrets(c)
	if err != nil {
		return err
	}
	w := window{c: c, address: c.String("listen"), flag: "--listen", secrets: secrets, log: log}
	if err := w.open(c.String("tls") != tlsOff, c.Bool("behind-proxy")); err != nil {
		return err
	}
	defer closing(&err, w.listener.Close)
	if w.tls, err = protection(c, tlsDirectory(c), log); err != nil {
		return err
	}
	server, err := w.server()
	if err != nil {
		return err
	}
	if err := w.announce(); err != nil {
		return err
	}
	paceCollector()
	ctx, stop := untilStopped(c)
	defer stop()
	return server.Run(ctx)
}

// A window is where a dashboard is looked through.
type window struct {
	c        *cli.Context
	address  string
	flag     string // that says the address
	secrets  dashboard.Secrets
	log      *slog.Logger
	tls      guard
	listener net.Listener
}

// open listens. It refuses to show a fleet to whoever comes by, or to have secrets
// overheard.
func (w *window) open(protected, proxied bool) (err error) {
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
		err = usagef(w.c, "%s %s can be reached from other machines, and everybody there could look at the fleet: give a --password-file or a --token-file, or listen on 127.0.0.1", w.flag, w.address)
	case !protected && !proxied:
		err = usagef(w.c, "%s %s can be reached from other machines, and without TLS the password or token would be overheard: use --tls self-signed or --tls CERT,KEY, or listen on 127.0.0.1, or say --behind-proxy where a proxy in front of it speaks TLS", w.flag, w.address)
	default:
		return nil
	}
	return errors.Join(err, w.listener.Close())
}

// server reads through clients of its own, so that no other command's figures have
// what it reads.
func (w *window) server() (*dashboard.Server, error) {
	configuration, err := loadConfig(w.c)
	if err != nil {
		return nil, err
	}
	s, err := openStorage(w.c, watcher{Table: view.CountTable, Queue: view.CountQueue})
	if err != nil {
		return nil, err
	}
	chosen := w.c.StringSlice("pipeline")
	var pipelines []view.Pipeline
	for _, p := range configuration.Pipelines {
		if len(chosen) == 0 || slices.Contains(chosen, string(p.Name)) {
			pipelines = append(pipelines, viewed(p))
		}
	}
	if len(pipelines) < len(chosen) {
		return nil, usagef(w.c, "--pipeline: not all of %s are in the configuration", strings.Join(chosen, ", "))
	}
	d, err := dashboard.New(dashboard.Config{
		View:    view.New(view.Config{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: pipelines, Silent: w.c.Duration("silent-after"), Log: w.log}),
		Secrets: w.secrets, Loopback: !exposed(w.listener), Storage: s.Account.Table, Version: readVersion().Module, Log: w.log})
	if err != nil {
		return nil, err
	}
	server := &dashboard.Server{Dashboard: d, Listener: w.listener}
	if w.tls.TLS != nil {
		server.TLS = w.tls.Config
	}
	return server, nil
}

// viewed is a pipeline as pages know it.
func viewed(p config.Pipeline) view.Pipeline {
	v := view.Pipeline{Name: p.Name, Cadence: p.Cadence, Sensors: p.Meant(), Units: map[string]string{}}
	for name, s := range p.Sensors {
		if s.Unit != "" {
			v.Units[name] = s.Unit
		}
	}
	for _, processor := range p.Processors {
		switch processor := processor.(type) {
		case config.Latest:
			v.Latest = true
		case config.Rollup:
			v.Windows = append(v.Windows, processor.Windows...)
		}
	}
	return v
}

func (w *window) url() string { return w.tls.scheme() + "://" + reach(w.listener) + "/" }

// A windowScreen is what dashboard says when it has started. Its JSON is for
// scripts: a field may be added, none changes.
type windowScreen struct {
	Dashboard string     `json:"dashboard"` // URL for browsers
	TLS       *tlsScreen `json:"tls,omitempty"`
}

func (w *window) announce() error {
	s := windowScreen{Dashboard: w.url()}
	if w.tls.TLS != nil {
		s.TLS = &tlsScreen{w.tls.Fingerprint, w.tls.CAFile, w.tls.CAFingerprint}
	}
	if w.c.Bool("json") {
		return json.NewEncoder(w.c.App.Writer).Encode(s)
	}
	text := "The fleet is to be seen at\n\n  " + s.Dashboard + "\n"
	if s.TLS != nil {
		text += fmt.Sprintf("\nTLS certificate, SHA-256\n  %s\n", s.TLS.Fingerprint)
		if s.TLS.CAFile != "" {
			text += fmt.Sprintf("Browsers have to trust %s, SHA-256\n  %s\n", s.TLS.CAFile, s.TLS.CAFingerprint)
		}
	}
	_, err := io.WriteString(w.c.App.Writer, text+"\nStop it with Ctrl-C.\n")
	return err
}

