package commit

import (
	"context"
	"strings"
	"time"

	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A FirstFailure is the error of a device that had not failed before.
type FirstFailure struct{ error }

func (f *FirstFailure) Unwrap() error { return f.error }

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

// Fail counts failures on the tracking rows of their devices. If a row has changed meanwhile, another job judges.
func (a *Attempt) Fail(ctx context.Context) error {
	for _, d := range a.Work {
		if d.Err == nil || ctx.Err() != nil {
			continue
		}
		op := d.failed(a.Now)
		err := Retry(ctx, func() error {
			_, err := a.Tracking().Do(ctx, op)
			if IsChanged(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if d.Row.Attempts == 1 {
			d.Err = &FirstFailure{d.Err}
		}
	}
	return ctx.Err()
}

// failed returns the merge that counts a failure and gives back a claim. It starts from the row as it was before the
// job, whose results are lost.
func (d *Device) failed(now tables.Ticks) tables.Op {
	t, m := d.Row, d.Member
	t.Marks = t.Was.Marks
	t.Attempts++
	t.Held, _, _ = strings.Cut(tables.Clip(d.Err.Error(), tracking.MaxHeld), "\n")
	pause := pauseAfter(t.Attempts)
	if d.unavailable {
		pause = min(pause, longestBusyPause)
	}
	if pause > 0 {
		t.HeldUntil = now.Add(pause)
	}
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	t.SetMarks(&e)
	if d.Claimed {
		e.Set(schema.TrackClaim, tables.String(""))
	}
	if t.ETag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.ETag)
}
