package demo

import (
	"context"
	"fmt"
	"time"

	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/verification"
	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
)

// foldAll waits until everything that is stored is folded: until each device's checkpoint has reached its newest row.
// The clock of a device, which it takes from the endpoint, may be a little ahead.
func (d *Demo) foldAll(ctx context.Context) error {
	d.Screen.Stage("folding the rest", 0)
	newest := d.receipts.Newest(tables.TicksOf(time.Now().Add(settle)))
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

// audit requests an audit of every device, as furrow audit run does. Audits fold late rows.
func (d *Demo) audit(ctx context.Context) error {
	d.Screen.Stage("looking for late readings", 0)
	d.audits = tables.TicksOf(time.Now())
	if err := d.queue().Put(ctx, jobs.Message{Kind: jobs.Master, Audit: refold.Full, Pipeline: pipeline, Run: d.audits},
		0); err != nil {
		return err
	}
	return await(ctx, d.Screen, pollEvery, func(ctx context.Context) (s waitState, err error) {
		figures, err := d.runs().Figures(ctx, pipeline, d.audits)
		if err != nil {
			return s, err
		}
		depth, err := d.queue().CatchupDepth(ctx)
		put, done := figures.Audits()
		s.done, s.progress = figures.Audited() && depth == 0, done+figures.Workers.Late-int64(depth)
		s.left = fmt.Sprintf("%d of %d audit messages are done, and %d wait", done, put, depth)
		return s, err
	})
}

// patience is how long differences may come from rows that are not folded yet: on Azure, the depth of a queue
// is approximate, so nobody knows when the last job is done.
func (d *Demo) patience() time.Duration {
	if d.Account.PathStyle() {
		return 0
	}
	return 30 * time.Second
}

// check compares the stored readings with what devices were told, and with the outputs.
func (d *Demo) check(ctx context.Context) (found check.Result, err error) {
	devices, _ := d.receipts.Told()
	c, err := d.parsed()
	if err != nil {
		return found, err
	}
	v, err := verification.Of(d.Tables, d.Names, c.Pipelines, schema.Format)
	if err != nil {
		return found, err
	}
	for began := time.Now(); ; {
		d.Screen.Stage("checking every device", int64(devices))
		found, err = check.Config{Client: d.Tables, Names: d.Names, Verify: v, Receipts: d.receipts, Alarm: d.oven.alarm(),
			Progress: func(done int) { d.Screen.Progress(int64(done), 0) }}.Run(ctx)
		if err != nil || found.Differences == 0 || time.Since(began) >= d.patience() {
			return found, err
		}
		d.Screen.Say(fmt.Sprintf("%d differences; checking again after another run", found.Differences))
		if !setup.Pause(ctx, 2*d.Cadence) {
			return found, context.Cause(ctx)
		}
	}
}
