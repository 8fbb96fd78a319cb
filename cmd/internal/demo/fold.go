package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/cmd/internal/demo/check"
	"furrow/jobs"
	"furrow/tables"
)

// fold waits until all that was sent before a time is folded, and then for the audits
// that find what came late.
func (d *Demo) fold(ctx context.Context, ended time.Time) error {
	d.Screen.Stage("folding the rest", 0)
	if err := d.awaitRun(ctx, ended.Add(settle)); err != nil {
		return err
	}
	d.Screen.Stage("looking for what came late", 0)
	if err := d.audit(ctx); err != nil {
		return err
	}
	return d.awaitIdle(ctx)
}

// longestFold is how long it may take until all is folded.
const longestFold = 5 * time.Minute

// awaitRun waits until a run is over whose slot is after a time.
func (d *Demo) awaitRun(ctx context.Context, after time.Time) error {
	for began := time.Now(); ; {
		runs, _, err := d.runs().Since(ctx, pipeline, tables.TicksOf(after))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(runs, func(r tables.Run) bool { return r.Enqueued != 0 }) {
			return d.awaitIdle(ctx)
		}
		if time.Since(began) > longestFold {
			return fmt.Errorf("after %v, no run has begun", longestFold)
		}
		if !pause(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// awaitIdle waits until the queue is empty, for a moment between two runs.
func (d *Demo) awaitIdle(ctx context.Context) error {
	for began := time.Now(); ; {
		depth, err := d.queue.Depth(ctx)
		if err != nil || depth == 0 {
			return err
		}
		if time.Since(began) > longestFold {
			return fmt.Errorf("after %v, the queue still holds %d messages", longestFold, depth)
		}
		if !pause(ctx, 30*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// audit asks for an audit of every device, as the scheduler does once a day.
func (d *Demo) audit(ctx context.Context) error {
	months := map[tables.Month][]tables.DeviceID{}
	for page, err := range d.client.Table(d.names.Fleet()).Rows(ctx, tables.Query{}) {
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			m, err := tables.MemberOf(e)
			if err != nil {
				return err
			}
			months[m.Month] = append(months[m.Month], m.Device)
		}
	}
	d.audits = tables.TicksOf(time.Now())
	for month, devices := range months {
		for b := range slices.Chunk(devices, batch) {
			err := d.queue.Put(ctx, jobs.Message{Kind: jobs.Audit, Audit: jobs.Full, Pipeline: pipeline, Run: d.audits, Month: month, First: b[0], Last: b[len(b)-1]}, 0)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// patience is how long differences are taken for what is not folded yet.
const patience = 15 * time.Second

// check compares all that is stored with what devices were told, and with the outputs.
func (d *Demo) check(ctx context.Context, ended time.Time) (found check.Result, err error) {
	devices, _ := d.receipts.Told()
	for began := time.Now(); ; {
		d.Screen.Stage("checking every device", int64(devices))
		found, err = check.Config{Client: d.client, Names: d.names, Pipeline: pipeline, Until: tables.TicksOf(ended), Receipts: d.receipts,
			Progress: func(done, _ int) { d.Screen.Progress(int64(done), "") }}.Run(ctx)
		if err != nil || found.Differences == 0 || time.Since(began) > patience {
			return found, err
		}
		d.Screen.Say(fmt.Sprintf("%d differences; it is looked at again, once more was folded", found.Differences))
		if !pause(ctx, 2*d.Cadence) {
			return found, context.Cause(ctx)
		}
	}
}
