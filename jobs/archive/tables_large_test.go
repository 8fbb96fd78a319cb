package archive_test

import (
	"fmt"
	"testing"

	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// largeFiles is so small that a file with anything in it is as large as a file becomes: a partition of the fleet whose
// day has a gigabyte and more has as many files then as one of few rows.
const largeFiles = 1

// TestALargeDayTakesOneTransaction: whatever its hours, its devices, late rows and files that it shares, a day of over
// a gigabyte is replaced in one version. The last of its files has what the others have no room for.
func TestALargeDayTakesOneTransaction(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 1, summed)
		x.fills(t, 0, 60)
		make := func(of archive.TableDay, asked ...schema.DeviceID) {
			t.Helper()
			m := x.maker(t, nil)
			m.FileBytes = largeFiles
			must.Succeed(t, m.MakeDay(t.Context(), of, asked...))
		}
		x.again(t)
		for _, hour := range hoursOf(x.day) {
			make(hour)
		}
		make(x.day)
		for n := range 5 { // late rows, each in a file that is too large to become one with others
			make(x.day, x.sends(t, 0))
			files := must.Have(collected(x.maker(t, nil).Readings(x.day.Tenant).Files(t.Context(), x.day.Day, x.day.Day)))(t)
			if len(files) > 23 {
				t.Fatalf("the day has %d files after %d late rows", len(files), n)
			}
		}
		x.good(t, "summed ", summed)
	}
}

// TestLargeDaysThatShareAFileTakeOneTransaction: small files of partitions became one, their days have grown since, and
// then rollups are asked for.
func TestLargeDaysThatShareAFileTakeOneTransaction(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	x := newMerge(t, 6, false)
	x.merge(t)
	for n := range x.parts {
		for range 9 {
			late := x.sends(t, n)
			m := x.maker(t, nil)
			m.FileBytes = largeFiles
			must.Succeed(t, m.MakeDay(t.Context(), x.parts[n], late))
		}
	}
	t.Log(x.files(t))
	x.good(t, "before")
	x.summed = true
	for _, of := range x.parts {
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
	}
	x.counts(t)
	x.good(t, "with rollups")
	t.Log(x.files(t))
}

// fills adds devices of a partition, with a row each: every hour has some.
func (x *mergeFleet) fills(t testing.TB, n, devices int) {
	t.Helper()
	for i := range devices {
		m := schema.Member{Month: x.parts[n].Month, Tenant: x.day.Tenant, Readings: x.Readings,
			Device: x.World.Devices[0] + schema.DeviceID(fmt.Sprintf("-large-%02d", i))}
		must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(),
			tables.Insert(must.Have(m.Entity())(t))))(t)
		x.late(t, m.Device, x.day.Day.Start()+tables.Ticks(i%24)*tables.Hour)
	}
}
