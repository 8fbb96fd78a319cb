package live

import (
	"bytes"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// skew is how far ahead of storage's time a checkpoint may lie: several machines answer for storage.
const skew = time.Minute

// clockAhead is why incidents close that were opened by readings of the future.
const clockAhead = "a clock was ahead"

// lowerWatermark follows a watermark that somebody has lowered, since it lay in the future, and reports whether it did.
// The tracking row is read before the membership, and a membership's watermark is raised before those of tracking rows:
// one that is lower was lowered. One that has none at all was not: somebody may have written the membership again.
func lowerWatermark(d *folding.Device) bool {
	c := &d.Row.Coverage
	if d.Member.Watermark == 0 || d.Member.Watermark >= c.Watermark {
		return false
	}
	c.Lower(d.Member.Watermark)
	d.Row.Rebuild(coverage.Clock)
	return true
}

// raiseWatermark follows the watermark of the membership where retention has raised that without this pipeline, which
// was not configured then, and reports whether it did. Rows below may be gone, and what was made of them stays.
func raiseWatermark(d *folding.Device) bool {
	t := d.Row
	if d.Member.Watermark <= t.Coverage.Watermark {
		return false
	}
	t.Coverage.Raise(d.Member.Watermark)
	t.Stream = tracking.Stream{}
	return true
}

// heedClock lowers a checkpoint that lies in the future by every clock, and reports whether it has changed the device.
// Storage's clock was ahead, and rows of the future were folded, which now wait for their time like any others. New
// rows lie below that checkpoint, and nothing but audits would find them. All days are folded again, as newest values
// of the future have replaced others, and states begin with them. Outputs in the future stay until their time comes.
func heedClock(d *folding.Device, latest tables.Ticks) (heeded bool, err error) {
	t := d.Row
	if tables.TicksBefore(t.Last) <= latest.Add(skew) {
		return false, nil
	}
	for processor, w := range d.Model.Watchers { // they would see no reading before the last one that they have seen
		was := t.State(processor.Name)
		state, closed, err := w.Leave(d.Member, was, d.Horizon, clockAhead)
		if err != nil {
			return false, err
		}
		if !bytes.Equal(state, was) {
			t.States[processor.Name] = state
		}
		if closed > 0 { // there may be more than one job can close
			return true, nil
		}
	}
	if err := newestBelow(d, d.Horizon+1); err != nil {
		return false, err
	}
	forgetWindows(d, all)
	t.Last = d.Horizon.String()
	t.Ledger.Drop(coverage.Window{From: d.Horizon.Floor(tables.Day), To: tables.MaxTicks})
	t.Rebuild(coverage.Clock)
	return true, nil
}
