package archive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestVerifyingCountsWhatTheFleetHasFolded: a day that is not made, and a late row whose mark was lost. What marks ask
// for waits, and rows that are no readings belong to no table.
func TestVerifyingCountsWhatTheFleetHasFolded(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	told := func() string {
		t.Helper()
		var all []string
		for one, err := range m.Verify(t.Context(), x.day.Tenant, false, tables.TicksOf(time.Now())) {
			must.Succeed(t, err)
			all = append(all, one.Wrong...)
		}
		return strings.Join(all, "\n")
	}
	if lacks := strings.Count(told(), "it has 0 readings of"); lacks != 2 {
		t.Errorf("without a table %q is told; want two days that it lacks", told())
	}
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	before := x.day
	before.Day--
	n := len(x.wantOf(t, before.Day))
	if want := fmt.Sprintf("%s, partition 2026-11: it has 0 readings of %d", before.Day, n); told() != want {
		t.Errorf("without a day: %q, want %q", told(), want)
	}
	must.Succeed(t, m.MakeDay(t.Context(), before))
	if told() != "" {
		t.Errorf("with all days: %s", told())
	}
	readings := x.World.Connect(t, nil).Table(x.Readings)
	strange := tables.Entity{PartitionKey: string(x.World.Devices[0]), RowKey: x.day.Day.Start().String() + "!"}
	late := tables.Entity{PartitionKey: strange.PartitionKey, RowKey: x.day.Day.Start().String() + "-late"}
	jobstest.Insert(t, readings, strange)
	f := *x.Fleet
	f.Names = x.source
	must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
	if told() != "" {
		t.Errorf("with a row that is no reading: %s", told())
	}
	jobstest.Insert(t, readings, late)
	must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
	if !strings.HasPrefix(told(), x.day.Day.String()+", partition 2026-11: it has ") {
		t.Errorf("with a late row: %q", told())
	}
	mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: x.day.Day.String()}
	must.Have(m.Source.Tracking().Do(t.Context(), tables.InsertOrReplace(mark.Entity())))(t)
	if told() != "" {
		t.Errorf("with a mark: %s", told())
	}
}

// TestSealedDaysOfOneDeviceHideNoMissingDay: the days of a device are sealed, and so it has no counts. A day is told
// all the same that the table lacks with readings of another one.
func TestSealedDaysOfOneDeviceHideNoMissingDay(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	place := x.World.Place(x.World.Devices[0])
	sealed := tables.Entity{PartitionKey: place.Month.String(), RowKey: string(place.Key)}
	sealed.Set(schema.TrackLedgerFrom, tables.Int64(int64((x.day.Day + 1).Start())))
	sealed.Set(schema.TrackLedger, tables.Binary(nil))
	must.Have(m.Source.Tracking().Do(t.Context(), tables.Merge(sealed, tables.AnyETag)))(t)
	told := 0
	for one, err := range m.Verify(t.Context(), x.day.Tenant, false, tables.TicksOf(time.Now())) {
		must.Succeed(t, err)
		told += len(one.Wrong)
	}
	if told == 0 {
		t.Error("nothing is told of a day that the table lacks")
	}
}
