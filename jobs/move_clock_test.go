package jobs_test

import (
	"testing"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestAMoveBeginsNow, although storage says that it is a year later, and can be undone when it is right again.
func TestAMoveBeginsNow(t *testing.T) {
	w := jobstest.NewWorldSince(t, 2*days, 1, 60)
	readings := w.Readings + "moveahead"
	w.Insert(t, readings, func(n int) bool { return n < 30 })
	f := w.NewFleetOf(t, readings)
	withRecords(t, f)
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Settle(t.Context(), p))
	wrong := sas.NewRegistry(f.World.Connect(t, ahead()), f.Names)
	must.Have(wrong.Move(t.Context(), sas.Move{Device: w.Devices[0], To: "t9"}))(t)
	w.Insert(t, readings, func(n int) bool { return n >= 30 })
	must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, later(30*days))))
	registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
	for _, to := range []string{"t9", "t0", "t8"} {
		m, err := registry.Move(t.Context(), sas.Move{Device: w.Devices[0], To: tenant(to)})
		t.Logf("to %s: at %v, %v", to, m.At.Time(), err)
	}
	for _, m := range membersOf(t, f) {
		if m.Spans.End() != 0 && m.Spans.End() > ago(-100) {
			t.Errorf("%v has the device until %v", m.Place(), m.Spans.End().Time())
		}
	}
}

func tenant(name string) schema.Tenant { return schema.Tenant(name) }
