package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// retaining returns the pipeline that deletes what a fleet's readings of 9 days ago and before are, with its table.
func retaining(t testing.TB, f *jobstest.Fleet, through policy.Transporter, others ...*jobs.Pipeline) *jobs.Pipeline {
	t.Helper()
	p := f.Pipeline(t, through)
	p.Name, p.Processors = "retention", nil
	policy := retain.Policy{Keep: []retain.Keep{{Readings: 9 * 24 * time.Hour}}}
	p.Retention = &jobs.Retention{Policy: policy, Others: others}
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
	effort.Alone(t)
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
	effort.Alone(t)
	t.Parallel()
	f, p := fleetOfDays(t, 2, 100)
	fresh := f.Pipeline(t, nil)
	fresh.Name = "fresh"
	f.World.Create(t, f.Names.Partitions(fresh.Name))
	f.Ran(t, fresh.Name)
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
		audit := f.Audit(refold.Full)
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

// TestChangedConditionHoldsForRowsThatHadToWait, although the device's rejects went meanwhile.
func TestChangedConditionHoldsForRowsThatHadToWait(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	r := retaining(t, f, nil, p)
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 43"))(t)
	must.Succeed(t, f.Drain(t.Context(), r))
	member := f.World.Member(f.World.Devices[0], f.Readings)
	cursor := func(text string) { // of the row that p has of the device
		e := tables.Entity{PartitionKey: member.Month.String(), RowKey: string(member.Key())}
		e.Set(schema.TrackRefold, tables.String(text))
		track := f.World.Connect(t, nil).Table(f.Names.Partitions(p.Name))
		must.Have(track.Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	cursor("unreadable")
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 0"))(t)
	r.Retention.Keep[0].Rejects = 9 * 24 * time.Hour
	left := len(rowsOf(t, f, member.Device))
	must.Succeed(t, f.Drain(t.Context(), r))
	if got := len(rowsOf(t, f, member.Device)); got != left {
		t.Fatalf("%d of %d rows are left while nobody knows what p needs", got, left)
	}
	cursor("")
	must.Succeed(t, f.Drain(t.Context(), r))
	if first := rowsOf(t, f, member.Device)[0]; first < nineDaysAgo() && len(first) == 19 {
		t.Errorf("there are rows from %s on", first)
	}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Partitions(r.Name)), tables.Query{}) {
		if at := must.Have(schema.TrackOf(e))(t); at.Waits != "" || at.WaitsFrom != 0 {
			t.Errorf("nothing waits, and noted is %q from %v on", at.Waits, at.WaitsFrom.Time())
		}
	}
}

// TestRetentionDeletesOldBucketsOfAWindow, which no refold brings back, and leaves those of other windows and devices.
func TestRetentionDeletesOldBucketsOfAWindow(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, p := fleetOfDays(t, 3, 100)
	before := jobstest.WithoutHistory(f.Ends(t))
	keep := retain.Keep{Match: fold.Match{Device: []string{string(f.World.Devices[0]), string(f.World.Devices[2])}},
		Rollups: map[schema.Window]time.Duration{schema.Minute: 10 * 24 * time.Hour}}
	p.Keep = []retain.Keep{keep}
	r := retaining(t, f, nil, p)
	r.Retention.Keep = p.Keep
	must.Succeed(t, f.Drain(t.Context(), r))
	cut := schema.DayOf(tables.TicksOf(time.Now().Add(-10 * 24 * time.Hour))).Start()
	deleted := 0
	for key := range before {
		table, rest, _ := strings.Cut(key, "/")
		pk, rk, _ := strings.Cut(rest, "/")
		part, err := schema.ParseRollupPartition(pk)
		row, errRow := schema.ParseRollupRow(rk)
		if table == "rollups" && err == nil && errRow == nil && part.Window == schema.Minute && row.Bucket < cut &&
			row.Device != f.World.Devices[1] {
			delete(before, key)
			deleted++
		}
	}
	if deleted == 0 {
		t.Fatal("there is nothing to delete")
	}
	sameOutputs(t, f, before, "after retention")
	for _, d := range f.World.Devices {
		must.Have(p.Rewind(t.Context(), f.World.Member(d, f.Readings), jobs.Rewound{Mark: "m", At: time.Now(), By: "t"}))(t)
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	sameOutputs(t, f, before, "after a rewind")
}

// TestRetentionCostsFewOperations: for 100 deleted rows at most 1.35, and 0.2 divided by the share of the rows that the
// condition deletes, where a sweep begins with 1,440 rows of a device. Later sweeps find fewer, which is harder.
func TestRetentionCostsFewOperations(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := jobstest.NewWorldSince(t, 20*24*time.Hour, 10, 30).NewFleet(t)
	readings := f.World.Connect(t, nil).Table(f.Readings)
	for _, d := range f.World.Devices {
		minutes := make([]tables.Entity, 1440)
		for n := range minutes {
			key := ago(11).Add(time.Duration(n)*time.Minute + time.Nanosecond*100).String()
			minutes[n] = tables.Entity{PartitionKey: string(d), RowKey: key}
			minutes[n].Set("n", tables.Int64(int64(n%100)))
		}
		jobstest.Insert(t, readings, minutes...)
	}
	p := f.Pipeline(t, nil)
	p.Processors = p.Processors[:1] // latest
	must.Succeed(t, f.Settle(t.Context(), p))
	for _, where := range []string{"n < 5", "n < 15", "n < 45", "n >= 0"} {
		count := &faults.Gate{At: -1}
		r := retaining(t, f, count, p)
		r.Batch = jobs.MaxBatch
		r.Retention.Keep[0].Where = must.Have(condition.Parse(where))(t)
		old := func() int {
			q := tables.Query{Range: tables.Range{Rows: tables.Keys{Before: nineDaysAgo()}}, Select: []string{"RowKey"}}
			return len(jobstest.Rows(t, readings, q))
		}
		before := old()
		jobstest.Work(t, r, jobs.Message{Kind: jobs.Device, Pipeline: r.Name, Run: tables.TicksOf(time.Now()),
			First: f.Batch.First, Last: f.Batch.Last})
		rows := before - old()
		share, each := float64(rows)/float64(before), float64(count.N.Load())/float64(rows)*100
		most := 1.35 + 0.2/share
		t.Logf("share %.2f: %d operations for %d rows, %.2f for 100, at most %.2f", share, count.N.Load(), rows, each, most)
		if each > most || rows < 700 {
			t.Errorf("share %.2f: %.2f operations for 100 of %d rows, want at most %.2f", share, each, rows, most)
		}
	}
}

// TestKilledRetentionLosesNothing at every operation, with a rewind or a late row before the next one begins: outputs
// stay, and in the end the old rows are gone.
func TestKilledRetentionLosesNothing(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f, p := fleetOfDays(t, 2, 60)
	ends := jobstest.WithoutHistory(f.Ends(t))
	for n := 0; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		sent := r.IntN(2) == 0
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if sent {
				if answer, err := send(); err == nil {
					_ = answer.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}}
		retention := retaining(t, f, gate, p)
		retention.Retention.Keep[0].Readings = time.Duration(9+max(0, 9-n/2)) * 24 * time.Hour // each has something to do
		m := f.Message()
		m.Pipeline = retention.Name
		_, err := retention.Do(ctx, m, jobstest.NoPut{}, nil)
		kill()
		if done := int(gate.N.Load()) <= n; done && n > 25 {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if device := f.World.Devices[r.IntN(2)]; r.IntN(2) == 0 {
			to := tables.TicksOf(time.Now().Add(-time.Duration(r.IntN(20*24)) * time.Hour))
			must.Have(p.Rewind(t.Context(), f.World.Member(device, f.Readings), jobs.Rewound{To: to, Mark: "m",
				At: time.Now(), By: "t"}))(t)
			must.Succeed(t, f.Settle(t.Context(), p))
		}
		sameOutputs(t, f, ends, fmt.Sprint("seed ", seed, ", operation ", n))
	}
	must.Succeed(t, f.Drain(t.Context(), retaining(t, f, nil, p)))
	sameOutputs(t, f, ends, fmt.Sprint("seed ", seed, ", at the end"))
	for _, d := range f.World.Devices {
		if left := rowsOf(t, f, d); left[0] < nineDaysAgo() {
			t.Errorf("device %s has rows from %s on", d, left[0])
		}
	}
}

// TestARowAtMidnightWaitsToBeFolded like those around it, although retention has passed everything before it: it is
// what a device has that sends once a day.
func TestARowAtMidnightWaitsToBeFolded(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorldSince(t, time.Hour, 1, 0).NewFleet(t)
	d, today := f.World.Devices[0], tables.TicksOf(time.Now()).Floor(tables.Day)
	for ago := tables.Ticks(20); ago > 0; ago-- {
		e := tables.Entity{PartitionKey: string(d), RowKey: (today - ago*tables.Day).String()}
		e.Set("temperature", tables.Double(20))
		jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), e)
	}
	p := f.Pipeline(t, nil)
	r, all := retaining(t, f, nil, p), rowsOf(t, f, d)
	for range 3 {
		must.Succeed(t, f.Drain(t.Context(), r))
		if got := rowsOf(t, f, d); !slices.Equal(got, all) {
			t.Fatalf("%d rows of %d are left, and none is folded", len(got), len(all))
		}
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	must.Succeed(t, f.Drain(t.Context(), r))
	if got := rowsOf(t, f, d); got[0] < nineDaysAgo() {
		t.Errorf("%s is left, and it is folded", got[0])
	}
}
