package jobs_test

import (
	"testing"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

// stray writes to a table that its processor does not declare.
type stray struct{}

func (stray) Fold(d schema.Member, _ []byte, _ []jobs.Sample) (jobs.FoldResult, error) {
	o := jobs.Output{Table: "nowhere", PartitionKey: "t0!stray", RowKey: string(d.Device)}
	return jobs.FoldResult{State: []byte{1}, Effects: []jobs.Effect{{Output: o,
		Properties: []tables.Property{{Name: "x", Value: tables.Int32(1)}}}}}, nil
}

func TestAnOutputOfAnUndeclaredTableFailsItsDevice(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 10)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Processors = append(p.Processors, custom("stray", stray{}))
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || len(r.Failed) != 1 {
		t.Errorf("the device has not failed: %+v, %v", r, err)
	}
	q := tables.Query{Range: tables.Partition("t0!stray")}
	if rows := jobstest.Rows(t, w.Connect(t, nil).Table(f.Names.Rollups()), q); len(rows) > 0 {
		t.Error("the output went to rollups")
	}
}

// custom returns a processor for a test.
func custom(name string, f jobs.Fold) jobs.Configured {
	return jobs.Configured{Processor: &jobs.Processor{Name: name, Tables: []string{"rollups"}}, Fold: f}
}
