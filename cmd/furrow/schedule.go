package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/worker"
)

func scheduleCommand() *cli.Command {
	return &cli.Command{
		Name:  "schedule",
		Usage: "Run the scheduler",
		Description: "Any number may run side by side: the first to take a slot has it. A slot is skipped while too much\n" +
			"of the last run is still in the queue. It makes the tables and queues that are missing, and runs until it\n" +
			"gets SIGINT or SIGTERM; with --once it does what is due now, for cron and its like.\n" +
			"It stores the file of --config if no generation of the configuration has its content, and follows the\n" +
			"generation that holds." +
			examples(
				"schedule",
				"schedule --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING",
				"schedule --once"),
		Flags: append(fleetFlags(),
			durationFlag("every", 0, time.Second, "`DURATION` between two slots, instead of the pipelines' cadences"),
			&cli.BoolFlag{Name: "once", Usage: "do what is due now, say what it was, and end"},
			verboseFlag(), stopWithInputFlag()),
		Action: schedule,
	}
}

func schedule(c *cli.Context) error {
	every := durationOf(c, "every")
	ctx, stop := untilStopped(c)
	defer stop()
	c.Context = ctx
	f, _, err := openFleetOffering(c)
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	if !c.Bool("once") {
		return f.Schedule(ctx, every)
	}
	return f.ScheduleOnce(ctx, every, func(s worker.Slot) {
		fmt.Fprintf(c.App.Writer, "%s %s %s", s.Run.Pipeline, s.Run.Slot.Time().Format(time.RFC3339), s.Outcome)
		if s.Run.Skipped != "" {
			fmt.Fprintf(c.App.Writer, ": %s", s.Run.Skipped)
		}
		fmt.Fprintln(c.App.Writer)
	})
}
