package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/bench"
	"furrow/sas/endpoint"
)

func benchTokensCommand() *cli.Command {
	return &cli.Command{
		Name:        "tokens",
		Usage:       "measure how fast devices get their tokens on this machine",
		Description: benchTokensHelp(),
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "for", Value: 5 * time.Second, Usage: "how long each row is measured, on each target, in each round"},
			&cli.IntFlag{Name: "rounds", Value: 1, Usage: "how often; the report shows medians"},
			&cli.IntFlag{Name: "clients", Value: 64, Usage: "how many ask at the same time"},
			&cli.IntFlag{Name: "devices", Value: 10_000, Usage: "`NUMBER` of devices that are known, and whose tokens are renewed in turn"},
			&cli.IntFlag{Name: "storm", Value: 20_000, Usage: "`NUMBER` of devices that boot at once; 0 for none"},
			&cli.IntFlag{Name: "storm-rate", Value: endpoint.DefaultRate, Usage: "most `REQUESTS` a second of all devices that the endpoint lets pass in a storm"},
			&cli.StringFlag{Name: "only", Usage: "the `ROWS` to measure, separated by commas (default: all)"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON"},
		},
		Action: benchTokens,
	}
}

func benchTokensHelp() string {
	text := "It starts storage and endpoints (furrow sas) in processes of their own, and asks them over plain HTTP, as a proxy\n" +
		"would, and over TLS with a self-signed certificate. Their limits are far off but in the storm, which has the default ones.\n\n" +
		"The rows are\n"
	names, abouts := bench.TokenNames()
	for i := range names {
		text += fmt.Sprintf("  %-6s %s\n", names[i], abouts[i])
	}
	return strings.TrimSpace(text)
}

func benchTokens(c *cli.Context) error {
	cfg, err := benchTokensConfig(c)
	if err != nil {
		return err
	}
	report, err := bench.RunTokens(c.Context, cfg)
	if len(report.Rows)+len(report.Storms) > 0 {
		write := report.WriteText
		if c.Bool("json") {
			write = func(w io.Writer) error { return writeJSON(w, report) }
		}
		err = errors.Join(write(c.App.Writer), err)
	}
	return err
}

// benchTokensConfig reads the flags, and refuses what cannot be measured.
func benchTokensConfig(c *cli.Context) (bench.TokenConfig, error) {
	cfg := bench.TokenConfig{
		Workloads: words(c.String("only")), For: c.Duration("for"), Rounds: c.Int("rounds"), Clients: c.Int("clients"),
		Devices: c.Int("devices"), Storm: c.Int("storm"), StormRate: c.Int("storm-rate"),
	}
	names, _ := bench.TokenNames()
	for _, name := range cfg.Workloads {
		if !slices.Contains(names, name) {
			return cfg, usagef(c, "--only: there is no row %q%s", name, didYouMean(name, names, ""))
		}
	}
	const most = 1_000_000
	switch {
	case cfg.For < 100*time.Millisecond:
		return cfg, usagef(c, "--for is %v; it takes at least 100ms to measure anything", cfg.For)
	case cfg.Rounds < 1:
		return cfg, usagef(c, "--rounds is %d; it must be at least 1", cfg.Rounds)
	case cfg.Clients < 1 || cfg.Clients > 4000:
		return cfg, usagef(c, "--clients is %d; it must be between 1 and 4000, as an endpoint closes kept connections when there are more", cfg.Clients)
	case cfg.Devices < cfg.Clients || cfg.Devices > most:
		return cfg, usagef(c, "--devices is %d; it must be between the number of --clients, %d, and %d", cfg.Devices, cfg.Clients, most)
	case cfg.Storm < 0 || cfg.Storm > most:
		return cfg, usagef(c, "--storm is %d; it must be between 0 and %d", cfg.Storm, most)
	case cfg.StormRate < 1 || cfg.StormRate > most:
		return cfg, usagef(c, "--storm-rate is %d; it must be between 1 and %d", cfg.StormRate, most)
	}
	var err error
	if cfg.Executable, err = os.Executable(); err != nil {
		return cfg, err
	}
	if f, ok := c.App.ErrWriter.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cfg.Progress = f
	}
	return cfg, nil
}
