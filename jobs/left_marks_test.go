package jobs_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// taking makes whatever is asked for, and counts it.
type taking struct{ made int }

var _ groups.Grouping = (*taking)(nil)

func (*taking) Settings() string { return "1" }

func (*taking) All(context.Context, schema.Month) iter.Seq2[schema.Mark, error] {
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
