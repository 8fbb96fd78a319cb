package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

func scheduleCommand() *cli.Command {
	return &cli.Command{
		Name:  "schedule",
		Usage: "Run the scheduler",
		Description: `Puts a master job for each slot of each pipeline into its queue. You can run several schedulers: the first
to take a slot has it. A slot is skipped while too much of the last run is still queued. It creates missing
tables and queues, and runs until SIGINT or SIGTERM; with --once it does what is due now, for cron. It
stores the file of --config as a new generation of the configuration unless it has been stored before, and
then follows the newest generation.` + examples(
			"schedule",
			"schedule --config site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING",
			"schedule --once"),
		Flags: append(fleetFlags(),
			durationFlag("every", 0, time.Second, "`DURATION` between two slots, instead of the pipelines' cadences"),
			boolFlag("once", "Do what is due now, print it, and exit"),
			jsonFlag(), metricsFlag(), verboseFlag(), logFormatFlag(), stopWithInputFlag()),
		Action: schedule,
	}
}

func schedule(c *cli.Context) (err error) {
	m, err := openMonitor(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, m.Close)
	every := durationOf(c, "every")
	ctx := c.Context
	f, s, err := openFleetWith(ctx, c, nil, true, hooksOf(m.Monitor))
	if err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	end, err := trace(ctx, c, f, s)
	if err != nil {
		return err
	}
	defer end()
	if err := f.Create(ctx); err != nil {
		return roles.IgnoreCanceled(ctx, err)
	}
	if !c.Bool("once") {
		follows(m.Monitor, f.Stored)
		m.Monitor.Watch(s.status(c, f.Stored))
		return m.While(ctx, s.ready, func(ctx context.Context) error {
			return s.followingKey(ctx, f.Log, func(ctx context.Context) error { return f.Schedule(ctx, every) })
		})
	}
	var failed error
	return cmp.Or(f.ScheduleOnce(ctx, every, func(s worker.Slot) {
		text := fmt.Sprintf("%s %s %s", s.Run.Pipeline, s.Run.Slot.Time().Format(time.RFC3339), s.Outcome)
		if s.Run.Skipped != "" {
			text += ": " + s.Run.Skipped
		}
		line := slotLine{s.Run.Pipeline, s.Run.Slot.Time(), s.Outcome.String(), s.Run.Skipped}
		failed = cmp.Or(failed, printLine(c, line, text))
	}), failed)
}

// slotLine is the slot of a pipeline in JSON.
type slotLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Slot     time.Time       `json:"slot"`
	Outcome  string          `json:"outcome"`          // enqueued, enqueued again, skipped, or taken by another scheduler
	Reason   string          `json:"reason,omitempty"` // why it is skipped
}

// untilNextRun returns how long it is until the next slot of a cadence.
func untilNextRun(cadence time.Duration, now time.Time) time.Duration {
	return cadence - time.Duration(now.UnixNano())%cadence
}

// nextRunText says when the next run is, for people who wait for it.
func nextRunText(left time.Duration) string {
	return "next run in " + short(left.Truncate(time.Second)+time.Second)
}

// nextRun returns when readings reach a processor: "; next run in 23s", or what to start if no scheduler has run
// lately.
func (s *stores) nextRun(ctx context.Context, processor string) string {
	holds, err := s.Generations().Holding(ctx, config.File{})
	if err != nil {
		return ""
	}
	runs := worker.Runs{Table: s.Tables.Table(s.Names.Runs())}
	for _, p := range holds.Config.Pipelines {
		if !slices.ContainsFunc(p.Processors, func(q config.Processor) bool { return q.Name == processor }) {
			continue
		}
		now := time.Now()
		recent, _, err := runs.Since(ctx, p.Name, tables.TicksOf(now.Add(-2*p.Cadence)))
		if err == nil && len(recent) > 0 {
			return "; " + nextRunText(untilNextRun(p.Cadence, now))
		}
		return "; no scheduler has run lately: start furrow up, or furrow schedule and furrow worker"
	}
	return ""
}
