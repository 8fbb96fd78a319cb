package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
)

// TestADeviceThatEndsItsWorkersIsHeldAndItsBatchGoesOn has each worker die at the
// fold of one device, as the queue tells it.
func TestADeviceThatEndsItsWorkersIsHeldAndItsBatchGoesOn(t *testing.T) {
	for _, kind := range []jobs.Kind{jobs.Device, jobs.Audit} {
		w := jobstest.NewWorld(t, 5, 20)
		f := w.NewFleet(t)
		p := f.Pipeline(t, nil)
		first := f.Message()
		if kind == jobs.Audit {
			first.Kind, first.Audit = jobs.Audit, jobs.Full
		}
		bad := w.Devices[2]
		deaths := 0
		// do does a job until it returns: a job that looks at the device does not.
		do := func(m jobs.Message) []jobs.Message {
			t.Helper()
			for m.Deaths = 0; ; m.Deaths++ {
				if m.Deaths <= 3 && m.First <= bad && bad <= m.Last {
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
			row, err := w.Connect(t, nil).Table(f.Names.Partitions("live")).Get(t.Context(), jobstest.Month.String(), string(d))
			if d != bad && kind == jobs.Audit {
				continue
			}
			jobstest.Must(t, err)
			held, is, err := jobs.HeldOf(row)
			jobstest.Must(t, err)
			switch {
			case is != (d == bad):
				t.Errorf("%s: device %s is held: %v", kind, d, is)
			case is && (!strings.Contains(held.Reason, "has ended 4 workers") || held.Until < tables.TicksOf(time.Now())):
				t.Errorf("%s: it is held until %v: %s", kind, held.Until.Time(), held.Reason)
			case !is && row.Get("Rows").Int() != 20:
				t.Errorf("%s: device %s has %d rows", kind, d, row.Get("Rows").Int())
			}
		}
	}
}
