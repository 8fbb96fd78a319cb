package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/bench"
	"furrow/cmd/internal/setup"
	"furrow/tables/local"
	"furrow/worker"
)

const fanoutHelp = `Measures whole runs of a fleet, from the master job in the queue to the last commit: devices and rows a second,
CPU time, storage operations, and what they cost on Azure. One worker in this process does the jobs. After each run
its requests go once more, in the same sizes, to a service that does nothing: the column wire is the CPU time of both
ends, the least that HTTP costs. Devices a second are until none waits for its first look, rows a second until all are
folded or archived. Figures are medians of the runs. Each begins when the storage that it has started is at rest: after
new rows that reorganizes its files, after a long --history for minutes. The target is as in bench storage, or embedded:
storage in this process, as furrow up has it. Its CPU time is in that of the worker, and its tables and queues need no
wire. What is created has a random name and is deleted at the end.

`

func fanoutCommand() *cli.Command {
	return &cli.Command{
		Name:  "fanout",
		Usage: "Measure runs of a fleet: devices a second, operations, cost",
		Description: fanoutHelp + rowsText(bench.FanoutNames()) +
			examples(
				"fanout",
				"fanout --target embedded --only idle,active",
				"fanout --only active,reports --devices 10000 --tenants 50 --rounds 5",
				"fanout --only idle --format go"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "target", Value: bench.Local, Usage: "`TARGET` to measure"},
			&cli.IntFlag{Name: "devices", Value: 2000, Usage: "`NUMBER` of devices"},
			&cli.IntFlag{Name: "batch", Value: 50, Usage: "`NUMBER` of devices in a message"},
			&cli.IntFlag{Name: "tenants", Value: 1, Usage: "`NUMBER` of tenants that the devices belong to in turn"},
			&cli.IntFlag{Name: "months", Value: 1, Usage: "`NUMBER` of months of deployment that they are in, in turn"},
			&cli.IntFlag{Name: "rows", Value: 100, Usage: "`NUMBER` of new rows of each device in the workload backlog"},
			&cli.IntFlag{Name: "history", Usage: "`DAYS` of hourly rows that each device has when measuring begins"},
			&cli.IntFlag{Name: "clients", Value: worker.DefaultSize, Usage: "`NUMBER` of jobs at a time"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of runs of each workload; the report shows medians"},
			&cli.StringFlag{Name: "only", Usage: "`ROWS` to measure, separated by commas (default: all)"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text, or go for benchstat"},
			furrowFlag(), jsonFlag(),
		},
		Action: fanout,
	}
}

func fanout(c *cli.Context) error {
	cfg := bench.FanoutConfig{Devices: c.Int("devices"), Batch: c.Int("batch"), Tenants: c.Int("tenants"),
		Months: c.Int("months"), Rows: c.Int("rows"), History: c.Int("history"), Embed: embedQuietly}
	names, _ := bench.FanoutNames()
	var err error
	if cfg.Settings, err = settingsOf(c, names, 1000); err != nil {
		return err
	}
	if err := cmp.Or(between(c, 1, 1_000_000, "devices"), between(c, 1, 99, "batch"),
		between(c, 1, cfg.Devices, "tenants"), between(c, 1, 1200, "months"), between(c, 1, 10_000, "rows"),
		between(c, 0, 3660, "history")); err != nil {
		return err
	}
	if cfg.Target, err = bench.ParseTarget(c.String("target")); err != nil {
		return usagef("--target: %v", err)
	}
	if f := c.String("format"); f != "text" && f != "go" {
		return usagef("--format is %q; it takes text or go", f)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as furrow worker does
	}
	measure := func(executable string) error {
		cfg.Executable = executable
		report, err := bench.RunFanout(c.Context, cfg)
		return printRuns(c, report, err)
	}
	if cfg.Target.Embedded || !cfg.Target.Local {
		return measure("")
	}
	return withFurrow(c, measure)
}

func printRuns(c *cli.Context, report *bench.FanoutReport, err error) error {
	if len(report.Rows) == 0 {
		return err
	}
	write := report.WriteText
	switch {
	case c.Bool("json"):
		write = asJSON(report)
	case c.String("format") == "go":
		write = report.WriteGo
	}
	return errors.Join(write(c.App.Writer), err)
}

// embedQuietly opens storage in this process, as furrow up does, without its log.
func embedQuietly(directory string) (*setup.Embedded, error) {
	config := local.Config{Dir: directory, Log: slog.New(slog.DiscardHandler)}
	return setup.OpenEmbedded(config, "127.0.0.1:0", true, nil)
}
