package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/bench"
	"furrow/sas/endpoint"
)

const tokensHelp = `Starts storage and token endpoints (furrow sas) in processes of their own, and asks for tokens over plain HTTP, as
a proxy would, and over TLS with a self-signed certificate. Rate limits are disabled except in the storm.

`

func tokensCommand() *cli.Command {
	return &cli.Command{
		Name:  "tokens",
		Usage: "Measure how fast this machine issues device tokens",
		Description: tokensHelp + rowsText(bench.TokenNames()) +
			examples(
				"tokens",
				"tokens --only kept,fresh --for 10s --rounds 3",
				"tokens --only storm --storm 20000"),
		Flags: sharedFlags(
			&cli.IntFlag{Name: "devices", Value: 10_000, Usage: "`NUMBER` of known devices that renew their tokens in turn"},
			&cli.IntFlag{Name: "storm", Value: 20_000, Usage: "`NUMBER` of devices that boot at once; 0 for none"},
			&cli.IntFlag{Name: "storm-rate", Value: endpoint.DefaultRate,
				Usage: "Maximum `REQUESTS` per second that the endpoint admits in a storm"},
		),
		Action: tokens,
	}
}

func tokens(c *cli.Context) error {
	cfg := bench.TokenConfig{Devices: c.Int("devices"), Storm: c.Int("storm"), StormRate: c.Int("storm-rate")}
	names, _ := bench.TokenNames()
	var err error
	// An endpoint closes kept connections beyond 4,000.
	if cfg.Settings, err = settingsOf(c, names, 4000); err != nil {
		return err
	}
	const most = 1_000_000
	if err := cmp.Or(between(c, cfg.Clients, most, "devices"), between(c, 0, most, "storm"),
		between(c, 1, most, "storm-rate")); err != nil {
		return err
	}
	return withFurrow(c, func(executable string) error {
		cfg.Executable = executable
		report, err := bench.RunTokens(c.Context, cfg)
		return printReport(c, report, err)
	})
}
