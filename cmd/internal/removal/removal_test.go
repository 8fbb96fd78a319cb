package removal_test

import (
	"os"
	"testing"

	"furrow/cmd/internal/removal"
	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestMain(m *testing.M) {
	azuretest.WithoutConnections()
	os.Exit(m.Run())
}

// TestFormerPipelinesForgetWhatIsErased: the configuration has lost a pipeline that folded the device. When it gets
// that again, nothing of the device comes back.
func TestFormerPipelinesForgetWhatIsErased(t *testing.T) {
	t.Parallel()
	f := jobstest.NewWorld(t, 2, 20).NewFleet(t)
	former := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), former))
	c := f.World.Connect(t, nil)
	for _, name := range []string{f.Names.Commands(), f.Names.Deliveries()} {
		f.World.Create(t, name)
	}
	later := *former
	later.Name = "later"
	f.World.Create(t, f.Names.Partitions(later.Name))
	e := removal.Eraser{Tables: c, Names: f.Names, Pipelines: []*jobs.Pipeline{&later}}
	m := f.World.Member(f.World.Devices[0], f.Readings)
	must.Have(e.Erase(t.Context(), schema.Device{ID: m.Device, Month: m.Month, Tenant: m.Tenant, Readings: m.Readings,
		Status: schema.Removing}))(t)
	for n, row := range jobstest.Rows(t, c.Table(f.Names.Partitions(former.Name)), tables.Query{}) {
		knows := row.Get(schema.TrackCheckpoint).Text() != ""
		if erased := row.RowKey == string(m.Key()); knows == erased {
			t.Errorf("row %d, %s: the pipeline knows the device: %t", n, row.RowKey, knows)
		}
	}
}
