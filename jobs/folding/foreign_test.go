package folding

import (
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// TestRowsOfOtherTenantsChangeNoState: a device read rows of the time when it belonged to another tenant, because an
// attempt may have made outputs of them. Windows without rows of its own are emptied; states and its own windows are as
// if it had read its own rows alone.
func TestRowsOfOtherTenantsChangeNoState(t *testing.T) {
	first := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	moved := first.Add(4 * time.Hour)
	row := func(at time.Time) tables.Entity {
		e := tables.Entity{PartitionKey: "d", RowKey: schema.RowKey{Ticks: tables.TicksOf(at), Suffix: "x"}.String()}
		e.Set("temperature", tables.Double(float64(at.Hour())))
		return e
	}
	var own, all []tables.Entity
	for n := range 120 { // five days
		e := row(first.Add(time.Duration(n) * time.Hour))
		if all = append(all, e); n < 4 {
			own = append(own, e)
		}
	}
	model := &fold.Model{Processors: []fold.Configured{rate.Processor.Default(), rollup.Processor.Default()}}
	member := schema.Member{Month: schema.Month{Year: 2026, Month: 11}, Tenant: "t", Device: "d",
		Spans: schema.Spans{{To: tables.TicksOf(moved)}, {From: tables.TicksOf(first.AddDate(0, 0, 30))}}}
	folded := func(rows []tables.Entity) *Device {
		d := NewDevice(member, tracking.New(), model, nil)
		for chunk := range slices.Chunk(rows, 7) {
			if n, err := d.foldRows(chunk); err != nil || n != len(chunk) {
				t.Fatal(n, err)
			}
		}
		return d
	}
	want, got := folded(own), folded(all)
	for name, state := range want.Row.States {
		if string(got.Row.States[name]) != string(state) {
			t.Errorf("the state of %s is another one", name)
		}
	}
	foreign := 0
	for _, o := range fold.SortedOutputs(got.Effects) {
		is, was := got.Effects[o], want.Effects[o]
		switch {
		case was.Properties != nil && len(is.Properties) != len(was.Properties):
			t.Errorf("%v has %d properties of %d", o, len(is.Properties), len(was.Properties))
		case was.Properties == nil && len(is.Properties) > 0:
			t.Errorf("%v of another tenant has %d properties", o, len(is.Properties))
		case was.Properties == nil:
			foreign++
		}
	}
	if foreign < 100 {
		t.Errorf("%d windows of another tenant are emptied", foreign)
	}
}
