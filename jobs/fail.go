package jobs

import (
	"context"
	"strings"
	"time"

	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A firstFailure is the error of a device that had not failed before.
type firstFailure struct{ error }

func (f *firstFailure) Unwrap() error { return f.error }

// Pauses of a failing device: none after the first failure, when it is tried again alone; then growing.
const (
	firstPause   = time.Minute
	longestPause = schema.LongestPause
	// Storage that does not answer is no fault of the device, and usually recovers soon.
	longestBusyPause = 2 * time.Minute
)

// pauseAfter returns how long a device is held after so many failures in a row.
func pauseAfter(attempts int) time.Duration {
	pause := time.Duration(0)
	for n := 2; n <= attempts && pause < longestPause; n++ {
		pause = max(firstPause, 2*pause)
	}
	return min(pause, longestPause)
}

// fail counts failures on the tracking rows of their devices. If a row has changed meanwhile, another job judges.
func (j *job) fail(ctx context.Context) error {
	for _, d := range j.work {
		if d.err == nil || ctx.Err() != nil {
			continue
		}
		op := d.failed(j.now)
		err := again(ctx, func() error {
			_, err := j.pipeline.tracking().Do(ctx, op)
			if isChanged(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if d.track.Attempts == 1 {
			d.err = &firstFailure{d.err}
		}
	}
	return ctx.Err()
}

// failed returns the merge that counts a failure and gives back a claim. It starts from the row as it was before the
// job, whose results are lost.
func (d *deviceRun) failed(now tables.Ticks) tables.Op {
	t, m := d.track, d.member
	t.Marks = t.Read.Marks
	t.Attempts++
	t.Held, _, _ = strings.Cut(tables.Clip(d.err.Error(), tracking.MaxHeld), "\n")
	pause := pauseAfter(t.Attempts)
	if d.busy {
		pause = min(pause, longestBusyPause)
	}
	if pause > 0 {
		t.HeldUntil = now.Add(pause)
	}
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	t.SetMarks(&e)
	if d.held {
		e.Set(schema.TrackClaim, tables.String(""))
	}
	if t.ETag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.ETag)
}
