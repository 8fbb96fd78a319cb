package commit

import (
	"fmt"

	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Change is what is to be written of a device, in one claim and one commit.
type Change struct {
	Member  schema.Member
	Row     *tracking.Row
	Effects map[fold.Output]fold.Effect
	Rejects tracking.Rejects
	Acks    []schema.Ack // of commands, in the rows folded
	Horizon tables.Ticks // up to which rows are folded; zero: rows are folded again
	Seen    tables.Ticks // newest time of the service in its rows' pages
	Behind  bool         // there are more rows than were folded: a message continues with it
	Look    bool         // its outputs may exist in unknown versions
	Dirty   bool         // there is something to commit

	marks map[string]schema.Mark // by RowKey, of the effects that are written
}

// A Result is what has become of a change.
type Result struct {
	Claimed bool  // by this attempt, and neither committed nor given back
	Err     error // why it failed

	committed, overtaken, unavailable bool
}

// An Outcome is how a change ended.
type Outcome uint8

const (
	Open        Outcome = iota // it was not to be written, or not yet
	Committed                  // it is written for good
	Overtaken                  // another job has claimed the device since: nothing of it lasts
	Unavailable                // storage has not answered, and may soon
	Failed                     // for a reason of the device's own
)

// Outcome returns how the change ended.
func (r Result) Outcome() Outcome {
	switch {
	case r.Err != nil && r.unavailable:
		return Unavailable
	case r.Err != nil:
		return Failed
	case r.overtaken:
		return Overtaken
	case r.committed:
		return Committed
	}
	return Open
}

// A Device is a change on its way.
type Device struct {
	Change
	Result
}

// NewDevice returns a device without a change.
func NewDevice(m schema.Member, t *tracking.Row) Device {
	return Device{Change: Change{Member: m, Row: t, Effects: map[fold.Output]fold.Effect{}}}
}

// live reports whether the attempt still writes for the device.
func (d *Device) live() bool { return d.Dirty && d.Err == nil && !d.overtaken }

// Unavailable makes an error of storage the failure of one device.
func (d *Device) Unavailable(err error) {
	if d.Err == nil && !d.overtaken {
		d.Err, d.unavailable = fmt.Errorf("storage: %w", err), true
	}
}

// ClearMarks sets the marks of a device that was worked on: its failures are over, and while it is far behind, a chain
// continues with it. The chain's ID comes with the commit.
func (d *Device) ClearMarks() {
	was := d.Row.Marks
	d.Row.Marks = tracking.Marks{RefoldMark: was.RefoldMark}
	d.Dirty = d.Dirty || d.Behind || d.Row.Marks != was
}
