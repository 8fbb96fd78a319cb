package jobs_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/tracking"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestAFormerMembershipWithoutRowsWaitsForNothing: a device moves before its first reading. A worker dies between its
// claim of the former membership and its commit. Twenty days later, retention of the new tenant goes on.
func TestAFormerMembershipWithoutRowsWaitsForNothing(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"control": false, "dies": true} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 19*days, 1, 190)
			readings := "empty" + name
			f := w.NewFleetOf(t, readings)
			withRecords(t, f)
			const back = -20 * days
			must.Have(sas.NewRegistry(f.World.Connect(t, later(back)), f.Names).Move(t.Context(),
				sas.Move{Device: w.Devices[0], To: "t9"}))(t)
			if dies {
				dead := false
				p := f.Pipeline(t, faults.Func(func(r *http.Request) (*http.Response, error) {
					body, err := bodyOf(r)
					if err != nil {
						return nil, err
					}
					if dead = dead || strings.Contains(body, "LastReadRowKey"); dead {
						return nil, errDead
					}
					return later(back + 10*time.Minute)(r)
				}))
				if _, err := p.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
					t.Fatal(err)
				}
			}
			for _, at := range []time.Duration{20 * time.Minute, 2 * time.Hour, 4 * time.Hour} {
				work(t, f, hence(t, f, f.Pipeline(t, nil), back+at))
			}
			w.Insert(t, readings, func(int) bool { return true })
			p := f.Pipeline(t, nil)
			for range 3 {
				work(t, f, p)
			}
			r := retaining(t, f, nil, p)
			must.Succeed(t, f.Drain(t.Context(), r))
			for e, err := range r.Retained(t.Context(), f.Batch) {
				t.Log(e.Member.Place(), e.Wait, err)
			}
			m := f.World.Member(w.Devices[0], readings)
			track := w.Connect(t, nil).Table(f.Names.Partitions("live"))
			e := must.Have(track.Get(t.Context(), m.Month.String(), string(m.Key())))(t)
			row := must.Have(tracking.RowOf(e))(t)
			t.Logf("former: last %q, uncut %v, coverage %+v", row.Last, row.Uncut.Time(), row.Coverage)
			if first := rowsOf(t, f, w.Devices[0])[0]; first < nineDaysAgo() {
				t.Errorf("rows from %v on are left", tables.TicksBefore(first).Time())
			}
		})
	}
}

// work does a run with full audits, and what they put, at most fifty messages.
func work(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) {
	t.Helper()
	p.Marks = 0 // five minutes, as it is for others
	for _, m := range []jobs.Message{f.Message(), f.Audit(refold.Full)} {
		line := &jobstest.Line{Queue: []jobs.Message{m}, Delays: []time.Duration{0}}
		for range 50 {
			m, _, more := line.Take()
			if !more {
				break
			}
			jobstest.Do(t, p, m, line)
		}
		if len(line.Queue) > 0 {
			t.Logf("%d messages are left", len(line.Queue))
		}
	}
}
