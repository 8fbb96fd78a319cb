package live

import (
	"context"
	"time"

	"furrow/jobs/folding"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Rester has commits say until when no run need look at their devices.
type Rester struct {
	Client     *tables.Client
	Others     func(schema.Member) bool // somebody else may write rows of a device
	Generation int64                    // of the configuration
}

// rest has the commit say until when no run need look at the device. A device rests for one of two reasons:
//
//	asleep    It has no token, and all rows are folded that the last one let it write:
//
//	          the token ends, on the membership ─┐   ┌─ storage's time minus settle, of this job
//	          rows ──•──•───•────────────────────┴───┴──────────────────────────────►
//	          The issuer notes the end of each token before it hands it out. So a later token changes the note, and the
//	          next run sees that. A row that is ahead of its time waits above the horizon: such a device stays awake.
//
//	expected  It is stated how often the device sends. The next row is expected so long after the arrival of the last:
//	          by storage's clock, as that of a device may be wrong. While it is overdue, runs look at growing steps.
//
// Either ends when something is due without a row, or when the membership or the configuration changes. An error in
// any of this costs time, not rows: audits look above the checkpoint, too. So does a row that storage accepts after the
// end of its token, within the slack that its clocks have beyond skew.
//
// A change leaves the time when the next row is expected as it was, unless the interval is shorter now.
func (r *Rester) rest(ctx context.Context, d *folding.Device, now tables.Ticks) error {
	if r == nil {
		return nil
	}
	was, every, asleep := d.Row.Was.Rest, d.Known.Every, r.asleep(d)
	if !mayRest(d) {
		if every != 0 && d.Arrived != 0 { // the next run looks, which does not know when this row came
			d.Row.Rest = schema.Rest{Expected: d.Arrived.Add(every)}
		}
		return nil
	}
	if d.Row.Last == "" {
		every = 0 // the first row of a new device may come at any time
	}
	if !asleep && every == 0 {
		return nil
	}
	is := schema.Rest{Of: d.Member.Fingerprint(d.Model.Settings, r.Generation, d.Known.Every)}
	if asleep && was.Until != d.Member.Awake {
		ahead, err := folding.HasRow(ctx, r.Client, d.Member, tables.Keys{After: d.Horizon.String()})
		if err != nil {
			return err
		}
		asleep = !ahead
	}
	if asleep {
		is.Until = d.Member.Awake
	}
	switch {
	case every == 0:
	case d.Arrived != 0:
		is.Expected = d.Arrived.Add(every)
	case was.Expected != 0:
		is.Expected = min(was.Expected, d.Horizon.Add(every))
	default:
		is.Expected = d.Horizon
	}
	if is.Next, d.Err = d.Next(); d.Err != nil || is.Until == 0 && is.Expected == 0 {
		return nil
	}
	if !asleep && was.Of != is.Of && awaits(d, now) {
		is.Of = 0
		d.Row.Rest = is
		return nil
	}
	was.Claim = ""
	d.Row.Rest = is
	d.Dirty = d.Dirty || is != was && is.Next >= d.Horizon
	return nil
}

// rowAfterNote is how long runs look for a row of a device that has got a token or has rung.
const rowAfterNote = 5 * time.Minute

// awaits reports whether the device may have got a token or rung for a row that this job has not seen: it is still to
// come, or younger than what is folded.
func awaits(d *folding.Device, now tables.Ticks) bool {
	noted := d.Member.Written // or something else has changed
	return noted <= now.Add(skew) && (noted > d.Horizon || d.Arrived == 0 && noted > d.Horizon.Add(-rowAfterNote))
}

// asleep reports whether no token of the device can be in use.
func (r *Rester) asleep(d *folding.Device) bool {
	return d.Member.Awake != 0 && d.Member.Awake.Add(skew) <= d.Horizon && !r.Others(d.Member)
}

// mayRest reports whether rows and time are all that the device waits for.
func mayRest(d *folding.Device) bool {
	t, m := d.Row, d.Member
	switch {
	case d.Err != nil || d.Behind || t.Chain.ID != "" || m.Spans.End() != 0:
		return false
	case !t.Coverage.Next().Empty() || !t.Coverage.Repeat.Empty() || m.Imports.Unknown(t.Imported):
		return false
	case t.Uncut != 0 && t.Uncut.String() > t.Last:
		return false
	case max(tables.TicksBefore(t.Last), t.Coverage.Watermark) > d.Horizon: // a clock was ahead
		return false
	}
	return t.Settings == d.Model.Settings && t.Spans.String() == m.Spans.String()
}
