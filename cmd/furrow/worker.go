package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/worker"
)

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:  "worker",
		Usage: "Run a worker",
		Description: "Any number may run side by side; one that dies leaves its jobs to the others. It makes the tables and\n" +
			"queues that are missing, and runs until it gets SIGINT or SIGTERM, when it gives back what it has begun.\n" +
			"It works under the stored configuration and follows it; --config holds only while none is stored." +
			examples(
				"worker",
				"worker --pipeline live --jobs 64",
				"worker --storage env:AZURE_STORAGE_CONNECTION_STRING --idle-exit 5m"),
		Flags: append(fleetFlags(),
			&cli.IntFlag{Name: "jobs", Value: 32, Usage: "most `JOBS` at the same time in each pipeline"},
			durationFlagUpTo("lease", worker.DefaultLease, 3*time.Second, time.Hour, "`DURATION` after which another worker takes over the jobs of a dead one"),
			durationFlag("idle-exit", 0, time.Second, "`DURATION` without work after which the worker ends (default: never)"),
			verboseFlag(), stopWithInputFlag()),
		Action: work,
	}
}

func work(c *cli.Context) error {
	size := c.Int("jobs")
	if size < 1 || size > 1000 {
		return usagef(c, "--jobs is %d; it must be between 1 and 1000", size)
	}
	lease := durationOf(c, "lease")
	if lease%time.Second != 0 {
		return usagef(c, "--lease is %v; it must be whole seconds", lease)
	}
	figures := &worker.Figures{Worker: roles.WorkerName()}
	ctx, stop := untilStopped(c)
	defer stop()
	c.Context = ctx
	f, _, err := openFleet(c, watcher{Table: figures.CountTable, Queue: figures.CountQueue, Object: figures.CountObject})
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	figures.Runs, figures.Log = f.Runs(), f.Log
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	return f.Work(ctx, roles.Work{Name: figures.Worker, Figures: figures, Size: size, Lease: lease, IdleExit: durationOf(c, "idle-exit")})
}
