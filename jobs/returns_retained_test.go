package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/condition"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestOutputsOfDeletedRowsStayWhereAPipelineReturns: while it was not configured, retention has deleted rows of a
// silent device, which another pipeline had folded. Then it returns, and is rewound.
func TestOutputsOfDeletedRowsStayWhereAPipelineReturns(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 20*days, 1, 200)
	const sent = 60
	for readings, where := range map[string]*condition.Condition{"silent": nil,
		"partly": must.Have(condition.Parse("humidity > 42"))(t)} {
		w.Insert(t, readings, func(n int) bool { return n < sent })
		f := w.NewFleetOf(t, readings)
		live, main := f.Pipeline(t, nil), f.Pipeline(t, nil)
		main.Name = "main"
		w.Create(t, f.Names.Partitions(main.Name))
		f.Ran(t, main.Name)
		must.Succeed(t, f.Settle(t.Context(), live))
		must.Succeed(t, f.Settle(t.Context(), main))
		want := jobstest.WithoutHistory(f.Ends(t))
		r := retaining(t, f, nil, main)
		r.Retention.Keep[0].Where = where
		must.Succeed(t, f.Drain(t.Context(), r))
		if left := len(rowsOf(t, f, w.Devices[0])); left == sent || (left == 0) != (where == nil) {
			t.Fatalf("%s: %d rows are left", readings, left)
		}
		must.Succeed(t, f.Drain(t.Context(), live))
		must.Have(live.Rewind(t.Context(), w.Member(w.Devices[0], readings), jobs.Rewound{At: time.Now(), By: "a test"}))(t)
		jobstest.Do(t, live, f.Audit(refold.Full), jobstest.NoPut{})
		must.Succeed(t, f.Settle(t.Context(), live))
		sameOutputs(t, f, want, readings)
	}
}

// TestRetentionGoesOnWhereAPipelineReturns: while it was not configured, retention has deleted rows that it had folded
// and that no audit of it had sealed.
func TestRetentionGoesOnWhereAPipelineReturns(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 20*days, 1, 200)
	f := w.NewFleet(t)
	live, main := f.Pipeline(t, nil), f.Pipeline(t, nil)
	main.Name = "main"
	w.Create(t, f.Names.Partitions(main.Name))
	f.Ran(t, main.Name)
	must.Succeed(t, f.Drain(t.Context(), live))
	must.Succeed(t, f.Settle(t.Context(), main))
	r := retaining(t, f, nil, main)
	r.Retention.Keep[0].Readings = 12 * days
	must.Succeed(t, f.Drain(t.Context(), r))
	if len(rowsOf(t, f, w.Devices[0])) == 200 {
		t.Fatal("nothing was deleted")
	}
	must.Succeed(t, f.Drain(t.Context(), live))
	must.Succeed(t, f.Settle(t.Context(), live))
	must.Succeed(t, f.Drain(t.Context(), retaining(t, f, nil, main, live)))
	if first := rowsOf(t, f, w.Devices[0])[0]; first < nineDaysAgo() {
		row, err := w.Connect(t, nil).Table(f.Names.Partitions("retention")).Get(t.Context(), jobstest.Month.String(),
			string(w.Place(w.Devices[0]).Key))
		t.Errorf("readings from %s on stay: %s, %v", first, row.Get(schema.TrackWaits), err)
	}
}
