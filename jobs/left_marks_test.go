package jobs_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// taking makes whatever is asked for, and counts it.
type taking struct{ made int }

var _ groups.Grouping = (*taking)(nil)

func (*taking) Settings() string { return "1" }

func (*taking) All(context.Context, *groups.Source, schema.Month) iter.Seq2[schema.Mark, error] {
	return func(func(schema.Mark, error) bool) {}
}

func (g *taking) Make(_ context.Context, marks []schema.Mark) error {
	g.made += len(marks)
	return nil
}

// TestMarksAreWorkedOffWhoseDevicesHaveLeft within a day: the last device of a partition was removed before its day was
// over, and no month job comes to that partition any more. Another partition, with a device, costs nothing more.
func TestMarksAreWorkedOffWhoseDevicesHaveLeft(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 1, 1).NewFleet(t)
	p, left := f.Pipeline(t, nil), jobstest.Month
	left.Year--
	track := f.World.Connect(t, nil).Table(f.Names.Partitions(p.Name))
	for _, month := range []schema.Month{left, jobstest.Month} {
		m := schema.Mark{Month: month, Kind: schema.ReportMark, Tenant: "t0", Name: "x"}
		must.Have(track.Do(t.Context(), tables.Insert(m.Entity())))(t)
	}
	g := &taking{}
	p.Groups = map[schema.MarkKind]groups.Grouping{schema.ReportMark: g}
	now := time.Now()
	run := func(ago time.Duration) {
		jobstest.Work(t, p, jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: tables.TicksOf(now.Add(-ago))})
	}
	for ago := 26 * time.Hour; ago > 0; ago -= time.Hour {
		run(ago)
	}
	if g.made != 2 {
		t.Errorf("%d of 2 marks are worked off", g.made)
	}
}

// TestTheArchiveGetsTheLastDaysOfAPartitionWhoseDevicesHaveLeft: they were removed and their data is kept, before any
// of their days was made, whether other partitions have devices or not.
func TestTheArchiveGetsTheLastDaysOfAPartitionWhoseDevicesHaveLeft(t *testing.T) {
	t.Parallel()
	for name, others := range map[string][]int{"alone": nil, "before": {-1}, "after": {1}, "between": {-1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := jobstest.NewWorldSince(t, 2*days, 2, 40).NewFleet(t)
			p := filing(t, f, nil)
			newArchive(t, p)
			must.Succeed(t, f.Drain(t.Context(), p))
			want := closedReadings(t, f, false)
			withRecords(t, f)
			registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
			for _, m := range membersOf(t, f) { // what Policies.Remove and Registry.Left do
				must.Have(registry.Update(t.Context(), m.Device, func(d *schema.Device) error {
					d.Status, d.Kept = schema.Removed, schema.KeptOf([]schema.Member{m})
					return nil
				}))(t)
				gone := tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)
				must.Have(registry.Fleet.Do(t.Context(), gone))(t)
			}
			for _, n := range others {
				m := f.World.Member("other", f.World.Readings)
				m.Month.Year += n
				must.Have(registry.Fleet.Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
			}
			now := time.Now()
			for ago := 26 * time.Hour; ago > 0; ago -= time.Hour {
				slot := tables.TicksOf(now.Add(-ago))
				jobstest.Work(t, p, jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: slot})
			}
			if left := closedMarks(t, f); len(left) > 0 {
				t.Errorf("left are the marks %v", left)
			}
			jobstest.SameEnds(t, filed(t, f), want)
		})
	}
}
