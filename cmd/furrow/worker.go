package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/worker"
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:  "worker",
		Usage: "Run a worker",
		Description: `You can run any number of workers: if one dies, the others take over its jobs. It creates missing tables and
queues, and runs until SIGINT or SIGTERM, when it gives unfinished jobs back. It follows the stored
configuration; --config applies only while none is stored.` + examples(
			"worker",
			"worker --pipeline live --jobs 64",
			"worker --storage env:AZURE_STORAGE_CONNECTION_STRING --idle-exit 5m"),
		Flags: append(fleetFlags(),
			concurrencyFlag(),
			durationFlagUpTo("lease", worker.DefaultLease, 3*time.Second, time.Hour,
				"`DURATION` after which another worker takes over the jobs of a dead one"),
			durationFlag("idle-exit", 0, time.Second, "`DURATION` without work after which the worker exits (default: never)"),
			metricsFlag(), verboseFlag(), logFormatFlag(), stopWithInputFlag()),
		Action: work,
	}
}

func work(c *cli.Context) (err error) {
	if err := between(c, 1, 1000, "jobs"); err != nil {
		return err
	}
	lease := durationOf(c, "lease")
	if lease%time.Second != 0 {
		return usagef(c, "--lease is %v; it must be whole seconds", lease)
	}
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	figures := &worker.Figures{Worker: roles.WorkerName()}
	ctx := c.Context
	f, s, err := openFleet(c, hooksOf(m.Monitor), hooksOfFigures(figures))
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	end, err := trace(ctx, c, f, s)
	if err != nil {
		return err
	}
	defer end()
	paceCollector()
	follows(m.Monitor, f.Stored)
	figures.Runs, figures.Log = f.Runs(), f.Log
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	return m.While(ctx, s.ready, func(ctx context.Context) error {
		return s.followingKey(ctx, f.Log, func(ctx context.Context) error {
			return whileLimited(ctx, workerMemory, func(ctx context.Context) error {
				return f.Work(ctx, roles.Work{Name: figures.Worker, Figures: figures, Size: c.Int("jobs"), Lease: lease,
					Monitor: m.Monitor, OnResult: m.Monitor.CountJob, IdleExit: durationOf(c, "idle-exit")})
			})
		})
	})
}
