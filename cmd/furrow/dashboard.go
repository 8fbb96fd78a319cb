package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/worker/dashboard/model"
)

const defaultDashboard = "127.0.0.1:10090"

func dashboardCommand() *cli.Command {
	return &cli.Command{
		Name:  "dashboard",
		Usage: "Serve the web dashboard",
		Description: "The dashboard only reads, and only while somebody looks at it; /openapi.json describes its JSON API. " +
			"An address that\n" +
			"other machines can reach requires TLS, and a password or token." +
			examples(
				"dashboard",
				"dashboard --listen 0.0.0.0:10090 --tls self-signed --password-file dashboard.password",
				"dashboard --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(fleetFlags(), secretFlags()...),
			&cli.StringFlag{Name: "listen", Value: defaultDashboard,
				Usage: "`ADDR` as host:port; port 0 picks a free port; no host means every address of this machine"},
			&cli.StringFlag{Name: "tls", Value: tlsOff, Usage: "off, self-signed (created and kept in tls of the directory of " +
				"--storage, or of " + defaultStorage + "), or two PEM files `CERT,KEY`"},
			&cli.BoolFlag{Name: "behind-proxy", Usage: "Allow plain HTTP on an address that other machines can reach, behind " +
				"a proxy that terminates TLS"},
			silentFlag(),
			jsonFlag(),
			verboseFlag(), stopWithInputFlag()),
		Action: showDashboard,
	}
}

// silentFlag is that of every command that shows pages.
func silentFlag() cli.Flag {
	return durationFlag("silent-after", model.DefaultSilent, time.Second,
		"`DURATION` without readings after which a device counts as silent")
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
	w := dashboardServer{c: c, address: c.String("listen"), flag: "--listen", secrets: secrets, log: log}
	if err := w.open(c.String("tls") != tlsOff, c.Bool("behind-proxy")); err != nil {
		return err
	}
	defer closing(&err, w.Close)
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
	ctx, stop := untilStopped(c)
	defer stop()
	return server.Run(ctx)
}

// A windowScreen is what dashboard says when it has started. Its JSON is for
// scripts: a field may be added, none changes.
type windowScreen struct {
	Dashboard string     `json:"dashboard"` // URL for browsers
	TLS       *tlsScreen `json:"tls,omitempty"`
}

func (w *dashboardServer) announce() error {
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
