package archive_test

import (
	"fmt"
	"testing"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// TestATableOfManySensorsHasAll: a tenant has as many columns as a table may have, and then come the sensors of
// devices. What they have sent stays when retention deletes it, and goes when they are erased.
func TestATableOfManySensorsHasAll(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	want := x.want(t)
	m := x.maker(t, nil)
	before := x.day
	before.Day -= 10
	must.Succeed(t, m.MakeDay(t.Context(), before))
	var many []catalog.Series
	for n := range catalog.MaxColumns {
		many = append(many, catalog.Series{Sensor: fmt.Sprint("other", n), Type: delta.Double})
	}
	must.Have(m.Readings(x.day.Tenant).Columns(t.Context(), many))(t)
	for range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		same(t, x.read(t), want)
	}
	for f, err := range m.Readings(x.day.Tenant).AllFiles(t.Context()) {
		if must.Succeed(t, err); fmt.Sprint(f.Columns) != "[more]" {
			t.Errorf("a file has the columns %q", f.Columns)
		}
	}
	for _, device := range x.World.Devices {
		x.retire(t, device)
	}
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want, "after retention")
	erased := must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, x.World.Devices...))(t)
	if erased.Rows < int64(len(want)) {
		t.Errorf("%d rows are erased of %d", erased.Rows, len(want))
	}
}
