package archive_test

import (
	"strings"
	"testing"

	"furrow/jobs/archive/delta"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestTheLastDeviceTakesTheTablesOfItsTenantAlong: once the data of all devices is erased, nothing names the tenant,
// and marks that are left make no table. A device that comes again gets new tables, whose versions go on.
func TestTheLastDeviceTakesTheTablesOfItsTenantAlong(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	var own []schema.DeviceID
	for _, device := range x.World.Devices {
		if x.World.Member(device, "").Tenant == x.day.Tenant {
			own = append(own, device)
		}
	}
	for n, device := range own {
		if has := len(must.Have(m.Catalog.Tables(t.Context(), x.day.Tenant))(t)) > 0; !has {
			t.Fatalf("the tables have gone with %d of %d devices", n, len(own))
		}
		x.vanish(t, device)
		must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
	}
	root := delta.Folder(string(x.day.Tenant)) + "/"
	gone := func(what string) {
		t.Helper()
		for name := range objects(t, x.World.Account, x.Names.Archive()) {
			if strings.HasPrefix(name, root) {
				t.Errorf("%s: there is %s", what, name)
			}
		}
		for _, e := range jobstest.Rows(t, x.World.Connect(t, nil).Table(x.rows), tables.Query{}) {
			if e.Get("Tenant").Text() != "" && e.Get("Tenant").Text() != "t1" {
				t.Errorf("%s: row %s names tenant %s", what, e.RowKey, e.Get("Tenant").Text())
			}
		}
	}
	gone("after the last device")
	mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: x.day.Day.String(),
		Read: tables.MaxTicks}
	must.Succeed(t, x.maker(t, nil).Make(t.Context(), []schema.Mark{mark}))
	must.Succeed(t, m.Make(t.Context(), []schema.Mark{mark})) // it had found the tables
	gone("after a mark")

	for _, device := range own {
		e := must.Have(x.World.Member(device, x.Readings).Entity())(t)
		must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(), tables.InsertOrReplace(e)))(t)
		row := tables.Entity{PartitionKey: string(device), RowKey: x.day.Day.Start().String() + "-again"}
		row.Set("again", tables.Int32(1))
		jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), row)
	}
	want := x.want(t)
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
	found := map[string]string{}
	for f, err := range m.Readings(x.day.Tenant).AllFiles(t.Context()) {
		must.Succeed(t, err)
		content := objects(t, x.World.Account, x.Names.Archive())[m.Readings(x.day.Tenant).Path(&f)]
		for id, values := range x.readingsOf(t, content, "date="+x.day.Day.String()) {
			found[id] = values
		}
	}
	same(t, found, want, "after the devices came again")
}
