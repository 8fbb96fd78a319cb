package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

const defaultDashboard = "127.0.0.1:10090"

func dashboardCommand() *cli.Command {
	return &cli.Command{
		Name:  "dashboard",
		Usage: "Serve the web dashboard",
		Description: `The dashboard reads only while somebody looks at it; /openapi.json describes its JSON API. On an address that
other machines can reach it requires TLS, and everybody signs in: with a token from furrow access add, or with
the password or token of a file, with which one looks at all tenants. On this machine everybody may look until
somebody has access.` + examples(
			"dashboard",
			"dashboard --listen 0.0.0.0:10090 --tls self-signed",
			"dashboard --behind-proxy --trust-header X-Forwarded-User --trust-proxy 10.0.0.7",
			"dashboard --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING"),
		Flags: append(append(append(accountsFlags(), pipelineFlags()...), secretFlags()...),
			listenFlag(defaultDashboard, "a free port"), tlsFlag(), behindProxyFlag(),
			tilesFlag(),
			metricsFlag(),
			jsonFlag(),
			verboseFlag(), logFormatFlag(), stopWithInputFlag()),
		Action: showDashboard,
	}
}

// tilesFlag belongs to every command that serves the dashboard.
func tilesFlag() cli.Flag {
	return &cli.StringFlag{Name: "tiles", Usage: "`URL` of the tiles of a street map, with {z}, {x} and {y}. Browsers " +
		"request them from its host, which learns where people look (default: none)"}
}

func showDashboard(c *cli.Context) (err error) {
	if err := checkTLS(c); err != nil {
		return err
	}
	log := logFor(c)
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	w, err := openDashboard(c, "listen", c.String("tls") != tlsOff, m.Monitor, log)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, w.Close)
	if w.tls, err = openTLS(c, tlsDirectory(c), log); err != nil {
		return err
	}
	server, err := w.server(nil)
	if err != nil {
		return err
	}
	follows(m.Monitor, w.pages.Stored())
	m.Monitor.Certificate(w.tls)
	m.Monitor.Watch(w.stores[0].status(c, w.pages.Stored()))
	s := dashboardScreen{w.url(), tlsScreenOf(w.tls)}
	if err := printScreen(c, s, "Dashboard\n\n  "+s.Dashboard+"\n"+s.TLS.text("Browsers")); err != nil {
		return err
	}
	return m.While(c.Context, w.stores[0].ready, func(ctx context.Context) error {
		return w.followingKeys(ctx, server.Run)
	})
}

// A dashboardScreen is printed when the dashboard has started.
type dashboardScreen struct {
	Dashboard string     `json:"dashboard"` // URL for browsers
	TLS       *tlsScreen `json:"tls,omitempty"`
}
