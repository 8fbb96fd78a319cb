package retain

import (
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// A retained is a device while retention works on it.
type retained struct {
	*commit.Device
	model *fold.Model
	keep  *Keep
	from  string       // rows after it are still there
	cut   tables.Ticks // rows below it are old enough to go
	to    tables.Ticks // rows below it go
	wait  Wait
	rows  []*tracking.Row // of the pipelines that fold
	busy  bool            // another job has claimed it

	passed Wait // why the pipeline passes over it, if it does
	done   Done
}

// A Done is what was done with a device.
type Done struct {
	Rows    int            // that are gone, besides buckets
	Deleted map[string]int // rows that are gone, by table
	Waits   Cause          // why readings stay that are old enough to go
	Overdue time.Duration  // for how long the oldest of them have been
	Later   bool           // another job works on it: it is tried again soon, alone
}

// lost reports whether the device has failed or was overtaken.
func (d *retained) lost() bool { return d.Err != nil || d.Outcome() == commit.Overtaken }

// stay has rows from a moment on stay, for a reason.
func (d *retained) stay(from tables.Ticks, cause Cause, reason string) {
	if from = from.Floor(tables.Day); from < d.to {
		d.to, d.wait = from, Wait{from, cause, reason}
	}
}

// note has the tracking row say why readings stay. That a job is at work just now is over before anybody reads it.
func (d *retained) note() {
	if d.lost() || d.wait.Cause == CauseBusy {
		return
	}
	if d.wait.Cause != "" {
		d.done.Overdue = d.cut.Time().Sub(d.oldest().Time())
	}
	d.Row.Waits = tracking.Wait{Cause: string(d.wait.Cause), From: d.wait.Until}
	d.Dirty = d.Dirty || d.Row.Waits != d.Row.Was.Waits
}

// oldest returns a time that no reading which stays is older than.
func (d *retained) oldest() tables.Ticks {
	at := max(d.wait.Until, tables.TicksOf(time.Date(d.Member.Month.Year, d.Member.Month.Month, 1, 0, 0, 0, 0, time.UTC)))
	if d.from != "" {
		at = max(at, tables.TicksBefore(d.from)+1)
	}
	return min(at, d.cut)
}
