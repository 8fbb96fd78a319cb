package jobs_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/retain"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ahead has storage say that it is a year later.
func ahead() faults.Func { return later(365 * days) }

// hence changes a pipeline to one of so much later, by storage's clock and the worker's.
func hence(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline, by time.Duration) *jobs.Pipeline {
	t.Helper()
	p.Client = f.World.Connect(t, later(by))
	p.Clock = func() time.Time { return time.Now().Add(by) }
	return p
}

// later has storage say that it is so much later.
func later(by time.Duration) faults.Func { return faults.Later(by) }

// TestClocksAheadDeleteNothing that the clock of the worker would keep, if that one is right.
func TestClocksAheadDeleteNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		storage policy.Transporter
		slot    time.Time
	}{
		"storage": {ahead(), time.Now()}, "the scheduler": {nil, time.Now().AddDate(1, 0, 0)},
		"both": {ahead(), time.Now().AddDate(1, 0, 0)},
	} {
		f, p := fleetOfDays(t, 2, 150)
		r, m := retaining(t, f, c.storage, p), f.Message()
		m.Pipeline, m.Run = r.Name, tables.TicksOf(c.slot)
		jobstest.Work(t, r, m)
		e := f.Track(t, f.World.Devices[0])
		if at := tables.Ticks(e.Get(schema.TrackWatermark).Int()); at != ago(9) {
			t.Errorf("%s: the watermark is %v", name, at.Time())
		}
		if first := rowsOf(t, f, f.World.Devices[0])[0]; first < nineDaysAgo() || first > ago(8).String() {
			t.Errorf("%s: rows from %s on are left", name, first)
		}
	}
}

// TestRetentionWaitsWhereTimeHasNotPassed: on a single machine all clocks are one. After it has jumped, no pipeline has
// had runs in the hours before.
func TestRetentionWaitsWhereTimeHasNotPassed(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 1, 20)
	f.NeverRan(t)
	slow := f.Pipeline(t, nil)
	slow.Name, slow.Cadence = "slow", 24*time.Hour
	r := retaining(t, f, nil, p, slow)
	runs := f.World.Connect(t, nil).Table(f.Names.Runs())
	slot := tables.TicksOf(time.Now())
	begin := func(of schema.Pipeline, ago time.Duration, started bool) {
		t.Helper()
		run := schema.Run{Pipeline: of, Slot: slot.Add(-ago), Enqueued: slot}
		if started {
			run.Started = slot
		}
		jobstest.Insert(t, runs, must.Have(run.Entity())(t))
	}
	months := func() int {
		t.Helper()
		line := &jobstest.Line{}
		must.Have(r.Do(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: r.Name, Run: slot}, line,
			func(context.Context, jobs.Message) error { return nil }))(t)
		return len(line.Queue)
	}
	if n := months(); n != 1 {
		t.Errorf("by hand: %d months", n)
	}
	begin(r.Name, 0, false)
	why := func() string {
		e := must.Have(runs.Get(t.Context(), string(r.Name), slot.String()))(t)
		return must.Have(schema.RunOf(e))(t).Skipped
	}
	if n := months(); n != 0 || !strings.Contains(why(), "a clock may have jumped") {
		t.Errorf("without any run before it: %d months, %q", n, why())
	}
	for n := range 5 { // several in each hour
		begin(p.Name, time.Duration(n)*time.Hour, true)
		begin(p.Name, time.Duration(n)*time.Hour+time.Second, true)
	}
	begin(p.Name, 6*time.Hour, false)
	begin(p.Name, 30*time.Hour, true)
	begin(slow.Name, 24*time.Hour, true)
	begin(slow.Name, 48*time.Hour, true)
	if n := months(); n != 0 {
		t.Errorf("after five hours: %d months", n)
	}
	begin(slow.Name, 72*time.Hour, true)
	if n := months(); n != 1 {
		t.Errorf("after three slots of a slow pipeline: %d months", n)
	}
	must.Have(runs.Do(t.Context(), tables.Delete(string(slow.Name), slot.Add(-72*time.Hour).String(), tables.AnyETag)))(t)
	begin(p.Name, 7*time.Hour, true)
	if n := months(); n != 1 {
		t.Errorf("after six hours: %d months", n)
	}
}

// TestClockAheadLosesNoLateRow: an audit while storage is a year ahead takes no day out of the ledger that tokens
// admit.
func TestClockAheadLosesNoLateRow(t *testing.T) {
	t.Parallel()
	f := newAdmittingFleet(t, 12*days, 11*days)
	wrong := f.Pipeline(t, ahead())
	wrong.Admits = f.pipeline.Admits
	jobstest.Do(t, wrong, f.Audit(refold.Full), &jobstest.Line{})
	f.arrive()
	f.end()
}

// TestAuditDropsNothingWhereTimeHasNotPassed since a clock may have jumped, not even one that somebody asked for.
func TestAuditDropsNothingWhereTimeHasNotPassed(t *testing.T) {
	t.Parallel()
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.NeverRan(t)
	f.admits(untold)
	first := func() tables.Ticks {
		t.Helper()
		for _, depth := range []refold.Depth{refold.Late, refold.Full} {
			jobstest.Do(t, f.pipeline, f.Audit(depth), &jobstest.Line{})
		}
		e := f.Track(t, f.World.Devices[0])
		return must.Have(tracking.ParseLedger(e.Get(schema.TrackLedger).Binary()))(t).Spans()[0][0]
	}
	if at := first(); at > ago(12) {
		t.Errorf("without any run, the ledger begins on %v", at.Time())
	}
	runs := f.World.Connect(t, nil).Table(f.Names.Runs())
	for n := range 6 {
		slot := tables.TicksOf(time.Now()).Add(-time.Duration(n)*time.Hour - time.Minute)
		run := schema.Run{Pipeline: f.pipeline.Name, Slot: slot, Started: slot}
		jobstest.Insert(t, runs, must.Have(run.Entity())(t))
	}
	if at := first(); at < ago(9) {
		t.Errorf("after runs in six hours, the ledger begins on %v", at.Time())
	}
}

// TestNewRowsBelowACheckpointInTheFutureAreFoldedAtOnce: while storage was a year ahead, rows of the future were stored
// and folded.
func TestNewRowsBelowACheckpointInTheFutureAreFoldedAtOnce(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-30 * time.Hour)
	f, insert := minutely(t, start, upTo(29*60, 7)...)
	insert(60*24*200, 60*24*300) // with a token that was issued then
	wrong := f.Pipeline(t, ahead())
	must.Succeed(t, f.Drain(t.Context(), wrong))
	before := f.Track(t, f.World.Devices[0])
	if last := before.Get(schema.TrackCheckpoint).Text(); last < ago(-200).String() {
		t.Fatalf("the checkpoint is %s", last)
	}
	insert(29*60+1, 29*60+9, 29*60+11)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	track := must.Have(tracking.RowOf(f.Track(t, f.World.Devices[0])))(t)
	if track.Last > tables.TicksOf(time.Now()).String() || !track.Coverage.Next().Empty() {
		t.Errorf("the checkpoint is %s, and %v is to be folded again", track.Last, track.Coverage.Next())
	}
	now := tables.TicksOf(time.Now()).String()
	s := settings()[1]
	s.windows = []schema.Window{schema.Minute, schema.Hour, schema.Daily}
	past := func(f *jobstest.Fleet) map[string]string {
		ends := s.outputs(f.Ends(t))
		maps.DeleteFunc(ends, func(key, _ string) bool {
			_, bucket, is := strings.Cut(key, string(f.World.Devices[0])+"!")
			return is && bucket > now
		})
		return ends
	}
	calm := f.World.NewFleetOf(t, f.Readings)
	must.Succeed(t, calm.Drain(t.Context(), calm.Pipeline(t, nil)))
	jobstest.SameEnds(t, past(f), past(calm))
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.SameEnds(t, past(f), past(calm), "after an audit")
}

// TestLoweredWatermarkIsFollowed by pipelines: while all clocks of a machine were ahead, retention has raised it beyond
// the present.
func TestLoweredWatermarkIsFollowed(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-30 * time.Hour)
	f, insert := minutely(t, start, upTo(29*60, 7)...)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	client := f.World.Connect(t, nil)
	for _, table := range []string{f.Names.Fleet(), f.Names.Partitions(p.Name)} {
		row := f.Track(t, f.World.Devices[0])
		e := tables.Entity{PartitionKey: row.PartitionKey, RowKey: row.RowKey}
		e.Set(schema.MemberWatermark, tables.Int64(int64(ago(-300))))
		must.Have(client.Table(table).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	insert(29*60+1, 29*60+9, 29*60+11)
	must.Succeed(t, f.Drain(t.Context(), p))
	late := tables.TicksOf(start.Add((29*60 + 11) * time.Minute)).String()
	row := f.Track(t, f.World.Devices[0])
	if last := row.Get(schema.TrackCheckpoint).Text(); last >= late {
		t.Fatalf("rows below the watermark are folded up to %s", last)
	}
	for _, m := range membersOf(t, f) {
		to := must.Have(lower(t, f, m))(t)
		if to > tables.TicksOf(start) || to < tables.TicksOf(start.Add(-days)) {
			t.Errorf("the watermark is %v", to.Time())
		}
		_, err := lower(t, f, m)
		if !errors.Is(err, tables.ErrConflict) {
			t.Errorf("a membership that has changed: %v", err)
		}
	}
	must.Succeed(t, f.Drain(t.Context(), p))
	calm := f.World.NewFleetOf(t, f.Readings)
	must.Succeed(t, calm.Drain(t.Context(), calm.Pipeline(t, nil)))
	jobstest.SameEnds(t, outputsOf(t, f), outputsOf(t, calm))
	insert(29*60 + 5) // nor is a day sealed
	must.Succeed(t, f.Settle(t.Context(), p))
	must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
	jobstest.SameEnds(t, outputsOf(t, f), outputsOf(t, calm), "after an audit")
}

// TestStoragesClockBehindLowersNoCheckpoint, where that of the worker is right.
func TestStoragesClockBehindLowersNoCheckpoint(t *testing.T) {
	t.Parallel()
	f, insert := minutely(t, time.Now().Add(-30*time.Hour), upTo(29*60, 7)...)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	insert(29*60 + 3)
	before := f.Track(t, f.World.Devices[0])
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, later(-365*days))))
	if after := f.Track(t, f.World.Devices[0]); after.Get(schema.TrackCheckpoint) != before.Get(schema.TrackCheckpoint) {
		t.Errorf("the checkpoint is %v", after.Get(schema.TrackCheckpoint))
	}
	must.Succeed(t, f.Drain(t.Context(), p))
	sameAsNew(t, f)
}

// TestClockAheadLeavesOutNoOutput as if it were too old to be kept.
func TestClockAheadLeavesOutNoOutput(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 3*days, 1, 60)
	calm, f := w.NewFleet(t), w.NewFleet(t)
	must.Succeed(t, calm.Drain(t.Context(), calm.Pipeline(t, nil)))
	p := f.Pipeline(t, ahead())
	p.Keep = []retain.Keep{{Rollups: map[schema.Window]time.Duration{schema.Minute: 30 * days, schema.Hour: 30 * days,
		schema.Daily: 30 * days}}}
	must.Succeed(t, f.Drain(t.Context(), p))
	sameOutputs(t, f, jobstest.WithoutHistory(calm.Ends(t)), "folded a year ahead")
}

// TestAClockThatWasAheadPreventsNoAudit: on a single machine all clocks are one. While it was ahead, one run put
// audits, or several did.
func TestAClockThatWasAheadPreventsNoAudit(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{1, 3} {
		f := jobstest.NewWorldSince(t, 2*days, 1, 20).NewFleet(t)
		audits := func(p *jobs.Pipeline, slot time.Time) bool {
			t.Helper()
			line := &jobstest.Line{}
			jobstest.Do(t, p, jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: tables.TicksOf(slot)}, line)
			return slices.ContainsFunc(line.Queue, func(m jobs.Message) bool { return m.Audit != "" })
		}
		now := time.Now()
		if !audits(f.Pipeline(t, nil), now.Add(-26*time.Hour)) {
			t.Fatal("the first run puts no audits")
		}
		for i := range runs {
			audits(f.Pipeline(t, ahead()), now.AddDate(1, 0, 0).Add(time.Duration(i)*10*time.Minute))
		}
		if !audits(f.Pipeline(t, nil), now) {
			t.Errorf("after %d runs of next year, the day that has passed is not audited", runs)
		}
	}
}

// TestHoldOfAClockThatJumpedIsIgnored: a worker failed while storage was a year ahead.
func TestHoldOfAClockThatJumpedIsIgnored(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{schema.TrackHeldUntil, schema.TrackChainUntil} {
		for until, want := range map[time.Duration]int{3 * time.Minute: 0, 365 * 24 * time.Hour: 1} {
			f := jobstest.NewWorld(t, 1, 20).NewFleet(t)
			p := f.Pipeline(t, nil)
			e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(f.World.Place(f.World.Devices[0]).Key)}
			e.Set(mark, tables.DateTime(tables.TicksOf(time.Now().Add(until))))
			if mark == schema.TrackChainUntil {
				e.Set(schema.TrackChainMark, tables.String("of a chain"))
			}
			tracking := f.World.Connect(t, nil).Table(f.Names.Partitions("live"))
			must.Have(tracking.Do(t.Context(), tables.InsertOrReplace(e)))(t)
			folded := 0
			line := &jobstest.Line{}
			m := jobs.Message{Kind: jobs.Month, Pipeline: p.Name, Run: f.Message().Run, Month: jobstest.Month}
			jobstest.Do(t, p, m, line)
			for m, _, ok := line.Take(); ok; m, _, ok = line.Take() {
				folded += jobstest.Do(t, p, m, line).Folded
			}
			if folded != want {
				t.Errorf("%s in %v: %d devices are folded, want %d", mark, until, folded, want)
			}
		}
	}
}
