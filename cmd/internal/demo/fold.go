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

// newestReading has every device send one more reading while no worker runs, and then a
// worker fold them in one run, with figures of its own: as it is all the time where a
// fleet keeps up. It tells when the last one was sent.
func (d *Demo) newestReading(ctx context.Context, failed context.CancelCauseFunc) (ended time.Time, err error) {
	d.Screen.Stage("folding the rest", 0)
	if d.quiet, err = d.awaitRun(ctx, time.Now().Add(settle)); err != nil {
		return ended, err
	}
	if err := d.rest(); err != nil {
		return ended, err
	}
	d.Screen.Stage("sending one more of each", 0)
	if err := d.sendNewest(ctx); err != nil {
		return ended, err
	}
	ended = time.Now()
	if !pause(ctx, settle) {
		return ended, context.Cause(ctx)
	}
	if err := d.configure(mostBatch); err != nil {
		return ended, err
	}
	if _, err := d.work(failed); err != nil {
		return ended, err
	}
	if _, err := d.awaitRun(ctx, d.quiet.Time().Add(time.Nanosecond*100)); err != nil {
		return ended, err
	}
	return ended, d.rest()
}

// longestFold is how long it may take until all is folded.
const longestFold = 5 * time.Minute

// awaitRun waits until a run is over whose slot is after a time, and gives its slot.
func (d *Demo) awaitRun(ctx context.Context, after time.Time) (tables.Ticks, error) {
	for began := time.Now(); ; {
		runs, _, err := d.runs().Since(ctx, pipeline, tables.TicksOf(after))
		if err != nil {
			return 0, err
		}
		if i := slices.IndexFunc(runs, func(r tables.Run) bool { return r.Enqueued != 0 }); i >= 0 {
			return runs[i].Slot, d.awaitIdle(ctx)
		}
		if time.Since(began) > longestFold {
			return 0, fmt.Errorf("after %v, no run has begun", longestFold)
		}
		if !pause(ctx, 50*time.Millisecond) {
			return 0, context.Cause(ctx)
		}
	}
}

// awaitIdle waits until the queues are empty, for a moment between two runs.
func (d *Demo) awaitIdle(ctx context.Context) error {
	for began := time.Now(); ; {
		live, err := d.queue.Depth(ctx)
		if err != nil {
			return err
		}
		history, err := d.queue.CatchupDepth(ctx)
		depth := live + history
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

// audit asks for an audit of every device, as the scheduler does once a day, and has a
// worker do it: what came late is folded then.
func (d *Demo) audit(ctx context.Context, failed context.CancelCauseFunc) error {
	d.Screen.Stage("looking for what came late", 0)
	if _, err := d.work(failed); err != nil {
		return err
	}
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
		for b := range slices.Chunk(devices, mostBatch) {
			err := d.queue.Put(ctx, jobs.Message{Kind: jobs.Audit, Audit: jobs.Full, Pipeline: pipeline, Run: d.audits, Month: month, First: b[0], Last: b[len(b)-1]}, 0)
			if err != nil {
				return err
			}
		}
	}
	return d.awaitIdle(ctx)
}

// patience is how long differences are taken for what is not folded yet, where a queue's
// depth is approximate: nobody knows then when the last job is done.
func (d *Demo) patience() time.Duration {
	if d.account.PathStyle() {
		return 0
	}
	return 30 * time.Second
}

// check compares all that is stored with what devices were told, and with the outputs.
func (d *Demo) check(ctx context.Context, ended time.Time) (found check.Result, err error) {
	devices, _ := d.receipts.Told()
	for began := time.Now(); ; {
		d.Screen.Stage("checking every device", int64(devices))
		found, err = check.Config{Client: d.client, Names: d.names, Pipeline: pipeline, Until: tables.TicksOf(ended), Receipts: d.receipts,
			Progress: func(done, _ int) { d.Screen.Progress(int64(done), 0) }}.Run(ctx)
		if err != nil || found.Differences == 0 || time.Since(began) >= d.patience() {
			return found, err
		}
		d.Screen.Say(fmt.Sprintf("%d differences; it is looked at again, once more was folded", found.Differences))
		if !pause(ctx, 2*d.Cadence) {
			return found, context.Cause(ctx)
		}
	}
}
