package archive_test

import (
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestOldDaysLeaveTheArchive: those of tenants that keep them stay, and no mark brings any back.
func TestOldDaysLeaveTheArchive(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := jobstest.NewWorldSince(t, 14*24*time.Hour, 4, 60).NewFleet(t)
	d := daysOf(t, f, nil)
	must.Succeed(t, d.Store.Create(t.Context()))
	d.Summed = sums
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Settle(t.Context(), p))
	now := tables.TicksOf(time.Now())
	cut := schema.DayOf(now) - 10
	for day := cut - 2; day < cut+2; day++ {
		for _, tenant := range []schema.Tenant{"t0", "t1"} {
			must.Have(d.MakeDay(t.Context(), archive.Folder{Tenant: tenant, Day: day, Month: jobstest.Month},
				archive.Asked{}))(t)
		}
	}
	before := objects(t, f.World.Account, f.Names.Archive())
	goes := func(name string) bool {
		return strings.Contains(name, "tenant=t0/date="+(cut-2).String()+"/") ||
			strings.Contains(name, "tenant=t0/date="+(cut-1).String()+"/")
	}
	deleted := 0
	for old, err := range d.Store.OldDays(t.Context(), func(t schema.Tenant) schema.Day {
		if t == "t0" {
			return cut
		}
		return 0
	}) {
		must.Succeed(t, err)
		for range 2 { // the second time there is nothing left
			must.Succeed(t, old.Delete(t.Context()))
		}
		deleted += old.Rows
	}
	left := objects(t, f.World.Account, f.Names.Archive())
	for name := range before {
		if _, is := left[name]; is == goes(name) {
			t.Errorf("%s is there: %v", name, is)
		}
	}
	if deleted != len(before)-len(left) || deleted < 6 {
		t.Errorf("%d objects were deleted, and %d counted", len(before)-len(left), deleted)
	}
	d.Source.Keep = []retain.Keep{{Archive: 10 * 24 * time.Hour}}
	for day := cut - 2; day < cut; day++ {
		must.Succeed(t, d.Make(t.Context(), []schema.Mark{{Month: jobstest.Month, Kind: schema.ArchiveMark, Tenant: "t0",
			Name: day.String(), At: now, Read: now}}))
	}
	if again := objects(t, f.World.Account, f.Names.Archive()); len(again) != len(left) {
		t.Errorf("%d objects are there, and %d were left", len(again), len(left))
	}
}
