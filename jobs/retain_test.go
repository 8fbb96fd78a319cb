package jobs_test

import (
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/condition"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// retaining returns the pipeline that deletes what a fleet's readings of 9 days ago and before are, with its table.
func retaining(t testing.TB, f *jobstest.Fleet, through policy.Transporter, others ...*jobs.Pipeline) *jobs.Pipeline {
	t.Helper()
	p := f.Pipeline(t, through)
	p.Name, p.Processors = "retention", nil
	p.Retention = &jobs.Retention{Keep: []jobs.Keep{{Readings: 9 * 24 * time.Hour}}, Others: others}
	f.World.Create(t, f.Names.Partitions(p.Name))
	return p
}

// fleetOfDays is a fleet with 20 days of rows that are folded, and audited as far as tokens reach.
func fleetOfDays(t testing.TB, devices, rows int) (*jobstest.Fleet, *jobs.Pipeline) {
	t.Helper()
	f := jobstest.NewWorldSince(t, 20*24*time.Hour, devices, rows).NewFleet(t)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Settle(t.Context(), p))
	return f, p
}

// rowsOf returns the row keys of a device's readings.
func rowsOf(t testing.TB, f *jobstest.Fleet, d schema.DeviceID) (keys []string) {
	t.Helper()
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{Range: tables.Partition(
		string(d))}) {
		keys = append(keys, e.RowKey)
	}
	return keys
}

func nineDaysAgo() string {
	return schema.DayOf(tables.TicksOf(time.Now().Add(-9 * 24 * time.Hour))).Start().String()
}

// TestRetentionDeletesOldRowsAndNothingElse: outputs stay as they are, also after a rewind to the beginning, an audit,
// and changed settings that a pipeline folds its history with.
func TestRetentionDeletesOldRowsAndNothingElse(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 3, 200)
	before, ends := map[schema.DeviceID][]string{}, jobstest.WithoutHistory(f.Ends(t))
	for _, d := range f.World.Devices {
		before[d] = rowsOf(t, f, d)
	}
	for range 2 { // the second time there is nothing to do
		must.Succeed(t, f.Drain(t.Context(), retaining(t, f, nil, p)))
		for _, d := range f.World.Devices {
			kept := slices.DeleteFunc(slices.Clone(before[d]), func(key string) bool { return key < nineDaysAgo() })
			if got := rowsOf(t, f, d); !slices.Equal(got, kept) || len(kept) == len(before[d]) {
				t.Fatalf("device %s has %d rows, want %d of %d", d, len(got), len(kept), len(before[d]))
			}
		}
	}
	for _, d := range f.World.Devices {
		must.Have(p.Rewind(t.Context(), f.World.Member(d, f.Readings), jobs.Rewound{Mark: "m", At: time.Now(), By: "t"}))(t)
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	sameOutputs(t, f, ends, "after a rewind")
	p.Settings = "latest:1,rollup:2"
	must.Succeed(t, f.Settle(t.Context(), p))
	sameOutputs(t, f, ends, "after a change of settings")
}

// sameOutputs ends the test where outputs differ from what they were.
func sameOutputs(t testing.TB, f *jobstest.Fleet, want map[string]string, about string) {
	t.Helper()
	got := jobstest.WithoutHistory(f.Ends(t))
	for _, all := range []map[string]string{got, want} {
		for key := range all {
			if len(key) > 10 && key[:10] == "partitions" {
				delete(all, key)
			}
		}
	}
	jobstest.SameEnds(t, got, want, about)
}

// TestRetentionWithAConditionKeepsTheOtherRows until the condition changes.
func TestRetentionWithAConditionKeepsTheOtherRows(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 2, 200)
	r := retaining(t, f, nil, p)
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 43"))(t)
	want := map[schema.DeviceID][]string{}
	for i, d := range f.World.Devices {
		for _, e := range f.World.Rows[i] {
			going := e.RowKey < nineDaysAgo() && e.Get("humidity").Text() > "43" && len(e.RowKey) == 19
			if !going {
				want[d] = append(want[d], e.RowKey)
			}
		}
	}
	must.Succeed(t, f.Drain(t.Context(), r))
	for d, keys := range want {
		if got := rowsOf(t, f, d); !slices.Equal(got, keys) {
			t.Errorf("device %s has %d rows, want %d", d, len(got), len(keys))
		}
	}
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 0"))(t)
	must.Succeed(t, f.Drain(t.Context(), r)) // another condition begins again
	for _, d := range f.World.Devices {
		old := func(key string) bool { return key < nineDaysAgo() && len(key) == 19 }
		if got := rowsOf(t, f, d); slices.ContainsFunc(got, old) {
			t.Errorf("device %s has rows from %s on", d, got[0])
		}
	}
}

// TestRetentionWaitsForWhoeverNeedsRows: pipelines that are paused, new, or fold history again.
func TestRetentionWaitsForWhoeverNeedsRows(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 2, 100)
	fresh := f.Pipeline(t, nil)
	fresh.Name = "fresh"
	f.World.Create(t, f.Names.Partitions(fresh.Name))
	r := retaining(t, f, nil, p, fresh)
	member := f.World.Member(f.World.Devices[0], f.Readings)
	all := len(rowsOf(t, f, member.Device))
	want := func(about string, rows func(int) bool) {
		t.Helper()
		must.Succeed(t, f.Drain(t.Context(), r))
		if got := len(rowsOf(t, f, member.Device)); !rows(got) {
			t.Errorf("%s: %d rows of %d are left", about, got, all)
		}
	}
	want("a new pipeline", func(n int) bool { return n == all })
	fold := func(settle time.Duration) {
		fresh.Settle = settle
		must.Succeed(t, f.Drain(t.Context(), fresh))
		audit := f.Audit(jobs.Full)
		audit.Pipeline = fresh.Name
		jobstest.Work(t, fresh, audit)
	}
	fold(15 * 24 * time.Hour)
	want("a pipeline that is 15 days behind", func(n int) bool { return n < all && n > all*14/20 })
	fold(0)
	must.Have(p.Rewind(t.Context(), member, jobs.Rewound{To: tables.TicksOf(time.Now().Add(-13 * 24 * time.Hour)),
		Mark: "m", At: time.Now(), By: "t"}))(t)
	want("a rewind by 13 days", func(n int) bool { return n < all*14/20 && n > all*12/20 })
	must.Succeed(t, f.Settle(t.Context(), p))
	want("nobody", func(n int) bool { return n < all*11/20 })
}
