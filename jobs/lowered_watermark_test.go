package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func setWatermark(t *testing.T, f *jobstest.Fleet, table string, m schema.Member, to tables.Ticks) {
	t.Helper()
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(to)))
	must.Have(f.World.Connect(t, nil).Table(table).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
}

// lower lowers a watermark of the future as the command does.
func lower(t *testing.T, f *jobstest.Fleet, m schema.Member) (tables.Ticks, error) {
	c := f.World.Connect(t, nil)
	return retain.Lower(t.Context(), c, f.Names, c.Table(f.Names.Partitions("retention")), m, tables.TicksOf(time.Now()))
}

// TestNoPipelineMissesALoweredWatermark, although it has no job until the future that it lay in is over.
func TestNoPipelineMissesALoweredWatermark(t *testing.T) {
	start := time.Now().Add(-30 * time.Hour)
	f, insert := minutely(t, start, upTo(20*60, 7)...)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	m := membersOf(t, f)[0]
	for _, table := range []string{f.Names.Fleet(), f.Names.Partitions(p.Name)} {
		setWatermark(t, f, table, m, ago(-1)) // the next midnight
	}
	for _, m := range membersOf(t, f) {
		must.Have(lower(t, f, m))(t)
	}
	insert(upTo(29*60, 11)[120:]...) // while the pipeline is paused
	late := hence(t, f, f.Pipeline(t, nil), 49*time.Hour)
	must.Succeed(t, f.Settle(t.Context(), late))
	calm := f.World.NewFleetOf(t, f.Readings)
	must.Succeed(t, calm.Settle(t.Context(), hence(t, calm, calm.Pipeline(t, nil), 49*time.Hour)))
	want := outputsOf(t, calm)
	jobstest.SameEnds(t, outputsOf(t, f), want)
}

// TestAMembershipWithoutAWatermarkLowersNone: what retention has passed is not folded again from what is left of it.
func TestAMembershipWithoutAWatermarkLowersNone(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	want := outputsOf(t, f)
	r := retaining(t, f, nil, p)
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 43"))(t) // the others stay
	must.Succeed(t, f.Drain(t.Context(), r))
	setWatermark(t, f, f.Names.Fleet(), membersOf(t, f)[0], 0)
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.SameEnds(t, outputsOf(t, f), want)
}

// TestNoDayIsMadeAgainWhoseRowsAreGone, though the first row that is stored is of it: a condition keeps that. All
// clocks were ahead, and were put right before retention deleted more.
func TestNoDayIsMadeAgainWhoseRowsAreGone(t *testing.T) {
	t.Parallel()
	f, p := fleetOfDays(t, 1, 200)
	want := outputsOf(t, f)
	r := retaining(t, f, nil, p)
	r.Retention.Keep[0].Where = must.Have(condition.Parse("humidity > 43"))(t)
	must.Succeed(t, f.Drain(t.Context(), r))
	for _, table := range []string{f.Names.Fleet(), f.Names.Partitions(p.Name)} {
		setWatermark(t, f, table, membersOf(t, f)[0], ago(-300))
	}
	must.Have(lower(t, f, membersOf(t, f)[0]))(t)
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.SameEnds(t, outputsOf(t, f), want)
}
