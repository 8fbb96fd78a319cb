package main

import (
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestRowThatCannotBeReadIsNamedAndItsNeighboursAreRead plants one row or one property that this program
// cannot read in each table. Every answer has all the rest.
func TestRowThatCannotBeReadIsNamedAndItsNeighboursAreRead(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	hour := tables.TicksOf(f.end) / 36e9 * 36e9 // every device has a reading then
	partition := schema.RollupPartition{Tenant: "fabrikam", Window: schema.Hour, Day: schema.DayOf(hour),
		Month: schema.Month{Year: 2026, Month: 11}}
	for _, c := range []struct {
		table, pk, rk, property string
		args                    []string
		without                 int // lines
	}{
		{f.names.Output("rollups"), partition.String(), schema.RollupRow{Device: "fabrikam:x", Bucket: hour}.String(),
			"temperature",
			append([]string{"query", "fabrikam:x", "--window=1h"}, f.span()...), 1},
		{f.names.Output("rollups"), partition.String(), "a copy", "temperature",
			append([]string{"query", "--tenant=fabrikam", "--window=1h"}, f.span()...), 0},
		{f.names.Output("latest"), "fabrikam!2026-11", "fabrikam:x", "humidity",
			[]string{"query", "--latest", "fabrikam:x"}, 1},
		{f.names.Rejects(), "fabrikam:x", "live!99", "Number", []string{"rejects", "--prefix=fab"}, 0},
		{f.names.Rejects(), "fabrikam:x", "live!99", "Number", []string{"rejects", "--tenant=fabrikam"}, 0},
		{f.names.Devices(), "fabrikam:w", schema.DeviceRow, "Month", []string{"device", "list"}, 0},
		{f.names.Devices(), "fabrikam:w", schema.DeviceRow, "Month", append([]string{"query", "--raw", "--prefix=fab"},
			f.span()...), 0},
		{f.names.Devices(), "fabrikam:w", schema.DeviceRow, "Month", []string{"query", "--latest", "--prefix=fab"}, 0},
	} {
		code, before, errs := f.run("", c.args...)
		if code != exitOK || strings.Contains(errs, "cannot be read") {
			t.Fatalf("furrow %q: exit %d, %s", c.args, code, errs)
		}
		table := f.client.Table(c.table)
		was, err := table.Get(t.Context(), c.pk, c.rk)
		there := err == nil
		strange := tables.Entity{PartitionKey: c.pk, RowKey: c.rk}
		strange.Set(c.property, tables.String("strange"))
		op := tables.Insert(strange)
		if there {
			op = tables.Merge(strange, tables.AnyETag)
		}
		_, err = table.Do(t.Context(), op)
		must(t, err)
		code, out, errs := f.run("", c.args...)
		if got, want := strings.Count(out, "\n"), strings.Count(before, "\n")-c.without; code != exitFailed || got != want {
			t.Errorf("furrow %q: exit %d, %d lines, want %d; %s", c.args, code, got, want, errs)
		}
		if !strings.Contains(errs, `row "`+c.rk+`" of "`+c.pk+`"`) || !strings.Contains(errs, "the answer is incomplete") {
			t.Errorf("furrow %q says %s", c.args, errs)
		}
		op = tables.Delete(c.pk, c.rk, tables.AnyETag)
		if there {
			was.ETag = ""
			op = tables.InsertOrReplace(was)
		}
		_, err = table.Do(t.Context(), op)
		must(t, err)
	}
}
