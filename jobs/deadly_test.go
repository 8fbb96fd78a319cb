package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

// TestADeviceThatCrashesItsWorkersIsHeldAndItsBatchContinues has each worker crash at the fold of one device, as
// counted by the queue.
func TestADeviceThatCrashesItsWorkersIsHeldAndItsBatchContinues(t *testing.T) {
	for _, kind := range []jobs.Kind{jobs.Device, jobs.Audit} {
		w := jobstest.NewWorld(t, 5, 20)
		f := w.NewFleet(t)
		p := f.Pipeline(t, nil)
		first := f.Message()
		if kind == jobs.Audit {
			first.Kind, first.Audit = jobs.Audit, jobs.Full
		}
		bad := w.Place(w.Devices[2])
		deaths := 0
		// do repeats a job until it returns. A job with the bad device does not.
		do := func(m jobs.Message) []jobs.Message {
			t.Helper()
			for m.Deaths = 0; ; m.Deaths++ {
				if m.Deaths <= 3 && m.First.Compare(bad) <= 0 && bad.Compare(m.Last) <= 0 {
					deaths++
					continue
				}
				l := &jobstest.Line{}
				if _, err := p.Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil }); err != nil {
					t.Fatal(err)
				}
				return l.Queue
			}
		}
		queue := []jobs.Message{first}
		alone := 0
		for len(queue) > 0 {
			m := queue[0]
			queue = append(queue[1:], do(m)...)
			if m.First == m.Last {
				alone++
			}
		}
		if deaths != 8 || alone != 5 {
			t.Errorf("%s: %d workers have died, and %d devices were alone; want 8 and 5", kind, deaths, alone)
		}
		for _, d := range w.Devices {
			row, err := w.Connect(t, nil).Table(f.Names.Partitions("live")).Get(t.Context(), jobstest.Month.String(),
				string(w.Place(d).Key))
			if w.Place(d) != bad && kind == jobs.Audit {
				continue
			}
			jobstest.Must(t, err)
			held, err := schema.TrackOf(row)
			jobstest.Must(t, err)
			switch {
			case held.Failing() != (w.Place(d) == bad):
				t.Errorf("%s: device %s is held: %v", kind, d, held.Failing())
			case held.Failing() && (!strings.Contains(held.Reason, "has crashed 4 workers") ||
				held.HeldUntil < tables.TicksOf(time.Now())):
				t.Errorf("%s: it is held until %v: %s", kind, held.HeldUntil.Time(), held.Reason)
			case !held.Failing() && held.Rows != 20:
				t.Errorf("%s: device %s has %d rows", kind, d, held.Rows)
			}
		}
	}
}
