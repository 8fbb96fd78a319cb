package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"furrow/worker"
)

const fanoutHelp = `Measures whole runs of a fleet, from the master job in the queue to the last commit: devices and rows a
second, CPU time, storage operations, and what they cost on Azure. One worker in this process does the jobs. After each run
its requests go once more, in the same sizes, to a service that does nothing: wire-cpu-ns is the CPU time of both
ends, the least that HTTP costs. Devices a second are until none waits for its first look, rows a second until all are
folded or archived. Each run begins when the storage that it has started is at rest: after new rows that reorganizes
its files, after a long --history for minutes. The target is as in bench storage, or embedded: storage in this process,
as furrow up has it. Its CPU time is in that of the worker, and its tables and queues need no wire. What is created has
a random name and is deleted at the end.

`

func fanoutCommand() *cli.Command {
	return &cli.Command{
		Name:  "fanout",
		Usage: "Measure runs of a fleet: devices a second, operations, cost",
		Description: fanoutHelp + workloadsText(fanouts()) +
			examples(
				"fanout",
				"fanout --target embedded --only idle,active",
				"fanout --only active,reports --devices 10000 --tenants 50 --rounds 5"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "target", Value: localTarget, Usage: "`TARGET` to measure"},
			&cli.IntFlag{Name: "devices", Value: 2000, Usage: "`NUMBER` of devices"},
			&cli.IntFlag{Name: "batch", Value: 50, Usage: "`NUMBER` of devices in a message"},
			&cli.IntFlag{Name: "tenants", Value: 1, Usage: "`NUMBER` of tenants that the devices belong to in turn"},
			&cli.IntFlag{Name: "months", Value: 1, Usage: "`NUMBER` of months of deployment that they are in, in turn"},
			&cli.IntFlag{Name: "rows", Value: 100, Usage: "`NUMBER` of new rows of each device in the workload backlog"},
			&cli.IntFlag{Name: "history", Usage: "`DAYS` of hourly rows that each device has when measuring begins"},
			&cli.IntFlag{Name: "clients", Value: worker.DefaultSize, Usage: "`NUMBER` of jobs at a time"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of runs of each workload"},
			onlyFlag(), furrowFlag(),
		},
		Action: measureFanout,
	}
}

// fanoutSettings say which fleet is run.
type fanoutSettings struct {
	settings // without a length; clients are jobs at a time
	devices  int
	batch    int // devices of a message
	tenants  int // that the devices belong to, in turn
	months   int // of deployment, in turn
	rows     int // of each device that are behind, in the workload backlog
	history  int // days of hourly rows that each device has when measuring begins
}

func measureFanout(c *cli.Context) (err error) {
	s := fanoutSettings{devices: c.Int("devices"), batch: c.Int("batch"), tenants: c.Int("tenants"),
		months: c.Int("months"), rows: c.Int("rows"), history: c.Int("history")}
	if s.settings, err = settingsOf(c, namesOf(fanouts()), 1000); err != nil {
		return err
	}
	if err := cmp.Or(between(c, 1, 1_000_000, "devices"), between(c, 1, 99, "batch"),
		between(c, 1, s.devices, "tenants"), between(c, 1, 1200, "months"), between(c, 1, 10_000, "rows"),
		between(c, 0, 3660, "history")); err != nil {
		return err
	}
	t, err := parseTarget(c.String("target"))
	if err != nil {
		return usagef("--target: %v", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as furrow worker does
	}
	measure := func(executable string) (err error) {
		storage, err := openFanoutStorage(c.Context, t, executable)
		if err != nil {
			return err
		}
		defer func() {
			storage.printMemory(s.settings)
			err = errors.Join(err, storage.close())
		}()
		return storage.while(c.Context, func(ctx context.Context) error { return s.run(ctx, storage) })
	}
	if !t.local {
		return measure("")
	}
	return withFurrow(c, measure)
}
