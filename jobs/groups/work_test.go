package groups_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var _ groups.Grouping = (*noting)(nil)

// noting notes how many marks are made together.
type noting struct {
	made  []int
	first func() // called with the first
}

func (*noting) Settings() string { return "" }

func (*noting) All(context.Context, *groups.Source, schema.Month) iter.Seq2[schema.Mark, error] {
	return func(func(schema.Mark, error) bool) {}
}

func (n *noting) Make(_ context.Context, marks []schema.Mark) error {
	if n.made = append(n.made, len(marks)); len(n.made) == 1 {
		n.first()
	}
	return nil
}

// TestDayIsMadeOnceForAllItsMarks, over pages, and a mark that was left again meanwhile stays.
func TestDayIsMadeOnceForAllItsMarks(t *testing.T) {
	f := jobstest.NewWorld(t, 1, 1).NewFleet(t)
	source := f.Pipeline(t, nil).Source()
	mark := func(day, device int) tables.Op {
		m := schema.Mark{Month: jobstest.Month, Kind: schema.ArchiveMark, Tenant: "contoso",
			Name: schema.ArchivePart{Day: schema.Day(day), Device: schema.DeviceID(fmt.Sprintf("d%04d", device))}.Name()}
		return tables.InsertOrReplace(m.Entity())
	}
	for day, devices := range []int{2100, 40, 70, 3} {
		for n := 0; n < devices; n += 100 {
			var ops []tables.Op
			for device := n; device < min(devices, n+100); device++ {
				ops = append(ops, mark(739_000+day, device))
			}
			must.Have(source.Tracking().Submit(t.Context(), ops))(t)
		}
	}
	grouping := &noting{first: func() { must.Have(source.Tracking().Do(t.Context(), mark(739_000, 1234)))(t) }}
	for range 3 {
		made := must.Have(source.Work(t.Context(), grouping, jobstest.Month, schema.ArchiveMark))(t)
		grouping.made = append(grouping.made, -made.Made)
		if !made.More {
			break
		}
	}
	if got, want := fmt.Sprint(grouping.made), "[2100 -2100 1 40 70 -111 3 -3]"; got != want {
		t.Errorf("made together, and in each job: %s instead of %s", got, want)
	}
	left := jobstest.Rows(t, source.Tracking(), tables.Query{Range: schema.Marks(jobstest.Month, schema.ArchiveMark)})
	if len(left) > 0 {
		t.Errorf("%d marks are left", len(left))
	}
}
