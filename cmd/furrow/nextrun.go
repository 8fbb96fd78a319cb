package main

import (
	"context"
	"slices"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/worker"
)

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
