package demo

import (
	"context"
	"fmt"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/verification"
	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
)

// newestReading lets every device send one more reading while no worker runs, and then a worker fold them in
// one run. The figures of that run are those of a fleet that keeps up.
func (d *Demo) newestReading(ctx context.Context, failed context.CancelCauseFunc) (err error) {
	d.Screen.Stage("folding the rest", 0)
	if err := d.foldAll(ctx, time.Now()); err != nil {
		return err
	}
	if d.quiet, err = d.lastBegun(ctx); err != nil {
		return err
	}
	d.Screen.Stage("sending one more reading per device", 0)
	if err := d.sendNewest(ctx); err != nil {
		return err
	}
	ended := time.Now()
	if !simulate.Pause(ctx, settle) {
		return context.Cause(ctx)
	}
	if err := d.configure(ctx, mostBatch); err != nil {
		return err
	}
	d.Screen.Stage("folding them", 0)
	if _, err := d.work(failed); err != nil {
		return err
	}
	return d.foldAll(ctx, ended)
}

// foldAll waits until everything that was stored up to a time is folded, and stops the workers.
func (d *Demo) foldAll(ctx context.Context, until time.Time) error {
	if err := d.awaitFolded(ctx, d.receipts.Newest(tables.TicksOf(until))); err != nil {
		return err
	}
	if err := d.awaitGap(ctx); err != nil {
		return err
	}
	return d.stopWorkers()
}

// awaitFolded waits until each device's checkpoint has reached a row.
func (d *Demo) awaitFolded(ctx context.Context, newest map[schema.DeviceID]string) error {
	return await(ctx, d.Screen, pollEvery, func(ctx context.Context) (s waitState, err error) {
		rows, err := d.tracks(ctx)
		left, such := 0, ""
		for id, key := range newest {
			if t := rows[id]; t.Checkpoint < key {
				if left++; such == "" || string(id) < such {
					such = string(id)
				}
			}
		}
		for _, t := range rows {
			s.progress += t.Rows
		}
		s.done = left == 0
		s.left = fmt.Sprintf("%d of %d devices have readings that are not folded, such as %s%s", left, len(newest), such,
			trouble(rows[schema.DeviceID(such)]))
		return s, err
	})
}

// awaitGap waits for a moment between two runs, so that workers that are stopped then leave nothing of a run to
// others. On a machine that is too slow for such moments it gives up after a while: only figures suffer.
func (d *Demo) awaitGap(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		depth, err := d.queue.Depth(ctx)
		if err != nil || depth == 0 {
			return err
		}
		d.Screen.Wait("between two runs")
		if !simulate.Pause(ctx, pollEvery) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// lastBegun returns the slot of the newest run that a worker has begun.
func (d *Demo) lastBegun(ctx context.Context) (slot tables.Ticks, err error) {
	runs, _, err := d.runs().Since(ctx, pipeline, tables.TicksOf(d.began.Add(-time.Minute)))
	for _, r := range runs {
		if r.Started != 0 {
			slot = max(slot, r.Slot)
		}
	}
	return slot, err
}

// audit requests an audit of every device, as furrow audit run does, and starts a worker for it. Audits fold
// late rows.
func (d *Demo) audit(ctx context.Context, failed context.CancelCauseFunc) error {
	d.Screen.Stage("looking for late readings", 0)
	d.audits = tables.TicksOf(time.Now())
	if err := d.queue.Put(ctx, jobs.Message{Kind: jobs.Master, Audit: refold.Full, Pipeline: pipeline, Run: d.audits},
		0); err != nil {
		return err
	}
	if _, err := d.work(failed); err != nil {
		return err
	}
	return await(ctx, d.Screen, pollEvery, func(ctx context.Context) (s waitState, err error) {
		figures, err := d.runs().Figures(ctx, pipeline, d.audits)
		if err != nil {
			return s, err
		}
		depth, err := d.queue.CatchupDepth(ctx)
		put, done := figures.Audits()
		s.done, s.progress = figures.Audited() && depth == 0, done+figures.Workers.Late-int64(depth)
		s.left = fmt.Sprintf("%d of %d audit messages are done, and %d wait", done, put, depth)
		return s, err
	})
}

// patience is how long differences may come from rows that are not folded yet: on Azure, the depth of a queue
// is approximate, so nobody knows when the last job is done.
func (d *Demo) patience() time.Duration {
	if d.account.PathStyle() {
		return 0
	}
	return 30 * time.Second
}

// check compares the stored readings with what devices were told, and with the outputs.
func (d *Demo) check(ctx context.Context) (found check.Result, err error) {
	devices, _ := d.receipts.Told()
	c, err := config.Parse(configFile, []byte(d.configuration(mostBatch)))
	if err != nil {
		return found, err
	}
	v, err := verification.Of(d.client, d.names, c.Pipelines, schema.Format)
	if err != nil {
		return found, err
	}
	for began := time.Now(); ; {
		d.Screen.Stage("checking every device", int64(devices))
		found, err = check.Config{Client: d.client, Names: d.names, Verify: v, Receipts: d.receipts, Alarm: d.oven.alarm(),
			Progress: func(done int) { d.Screen.Progress(int64(done), 0) }}.Run(ctx)
		if err != nil || found.Differences == 0 || time.Since(began) >= d.patience() {
			return found, err
		}
		d.Screen.Say(fmt.Sprintf("%d differences; checking again after another run", found.Differences))
		if !simulate.Pause(ctx, 2*d.Cadence) {
			return found, context.Cause(ctx)
		}
	}
}
