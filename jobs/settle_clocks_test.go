package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/tracking"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestNothingIsSealedWhereTimeHasNotPassed: it is eight days ago. All clocks of the machine jump eight days ahead for
// one run, and nothing shows that time has passed. A device has moved an hour before, and has rows of its last days yet
// to send.
func TestNothingIsSealedWhereTimeHasNotPassed(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"right": -8 * days, "jump": 0} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 20*days, 1, 200)
			right := time.Now().Add(-8 * days)
			between := func(from, to time.Duration) func(n int) bool {
				return func(n int) bool {
					key := w.Rows[0][n].RowKey
					return key >= tables.TicksOf(right.Add(from)).String() && key < tables.TicksOf(right.Add(to)).String()
				}
			}
			readings := "settle" + name
			w.Insert(t, readings, between(-100*days, -9*days-12*time.Hour))
			f := w.NewFleetOf(t, readings)
			f.NeverRan(t)
			withRecords(t, f)
			p := f.Pipeline(t, later(-8*days))
			runs := w.Connect(t, nil).Table(f.Names.Runs())
			for n := range 12 {
				slot := tables.TicksOf(right.Add(-time.Duration(n) * time.Hour))
				run := schema.Run{Pipeline: p.Name, Slot: slot, Started: slot}
				jobstest.Insert(t, runs, must.Have(run.Entity())(t))
			}
			must.Succeed(t, f.Settle(t.Context(), p))
			must.Have(sas.NewRegistry(f.World.Connect(t, later(-8*days)), f.Names).Move(t.Context(),
				sas.Move{Device: w.Devices[0], To: "t9", At: tables.TicksOf(right.Add(-time.Hour))}))(t)
			must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, later(jump))))
			show := func(about string) {
				m := f.World.Member(w.Devices[0], readings)
				track := w.Connect(t, nil).Table(f.Names.Partitions("live"))
				e := must.Have(track.Get(t.Context(), m.Month.String(), string(m.Key())))(t)
				row := must.Have(tracking.RowOf(e))(t)
				t.Logf("%s: last %v, coverage %+v", about, tables.TicksBefore(row.Last).Time(), row.Coverage)
			}
			show("after the jump")
			w.Insert(t, readings, between(-2*days, -time.Hour)) // tokens admit rows of seven days
			must.Succeed(t, f.Drain(t.Context(), p))
			w.Insert(t, readings, between(-6*days, -2*days))
			must.Succeed(t, f.Settle(t.Context(), p))
			w.Insert(t, readings, between(-time.Hour, 100*days))
			now := f.Pipeline(t, nil) // eight days later
			f.Ran(t, "live")
			for range 2 {
				must.Succeed(t, f.Settle(t.Context(), now))
			}
			calm := w.NewFleetOf(t, readings+"all")
			silent := between(-9*days-12*time.Hour, -6*days)
			w.Insert(t, readings+"all", func(n int) bool { return !silent(n) })
			calm.Batch = f.Batch
			table := w.Connect(t, nil).Table(calm.Names.Fleet())
			for _, m := range membersOf(t, f) {
				m.Readings = readings + "all"
				must.Have(table.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
			}
			show("in the end")
			must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
			want := outputsOf(t, calm)
			r := retaining(t, f, later(2*days), now)
			r.Retention.Keep[0].Readings = 9 * days
			must.Succeed(t, f.Drain(t.Context(), r))
			t.Logf("rows are left from %s on, of %s", rowsOf(t, f, w.Devices[0])[0], w.Rows[0][0].RowKey)
			jobstest.SameEnds(t, outputsOf(t, f), want, "in the end")
		})
	}
}
