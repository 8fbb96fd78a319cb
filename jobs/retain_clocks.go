package jobs

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// What shows that clocks are right: runs of a pipeline as time would have had them.
const (
	steadySpan  = 24 * time.Hour
	steadyHours = 6 // of steadySpan in which runs began
	steadySlots = 3 // where slots are more than an hour apart
)

const untilSteady = "nothing is deleted until pipelines have had runs in six hours of a day, or in three slots: " +
	"a clock may have jumped"

// waitForClocks reports whether nothing is to be deleted yet, and says why in the run's row.
func (j job) waitForClocks(ctx context.Context, at tables.Ticks) (bool, error) {
	steady, err := j.steady(ctx, at)
	if err != nil || steady {
		return false, err
	}
	return true, j.runs().merge(ctx, schema.Run{Pipeline: j.Name, Slot: j.m.Run, Skipped: untilSteady}, tables.AnyETag)
}

// steady reports whether a pipeline that folds has had runs in several hours before a moment. All clocks are one on a
// single machine. After it has jumped, there were no runs where it is now, and retention waits until time has passed.
func (j job) steady(ctx context.Context, at tables.Ticks) (bool, error) {
	for _, o := range j.Retention.Others {
		if steady, err := o.ranBefore(ctx, at); steady || err != nil {
			return steady, err
		}
	}
	return false, nil
}

// ranBefore reports whether the pipeline has had runs in several hours or slots before a moment.
func (p *Pipeline) ranBefore(ctx context.Context, at tables.Ticks) (bool, error) {
	if p.Cadence > time.Hour {
		n, err := p.runs().began(ctx, at.Add(-(steadySlots+1)*p.Cadence), at, 1)
		return n >= steadySlots, err
	}
	n, err := p.runs().began(ctx, at.Add(-steadySpan), at, tables.Hour)
	return n >= steadyHours, err
}
