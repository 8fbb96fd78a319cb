package archive_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// counts reports partitions whose day has another number of rows than storage.
func (x *mergeFleet) counts(t testing.TB, about ...any) {
	t.Helper()
	want := map[schema.Month]int64{}
	for id := range x.want(t) {
		device, _, _ := strings.Cut(id, "/")
		month := x.parts[0].Month
		for n := range x.parts[1:] {
			if m := x.member(n + 1); string(m.Device) == device {
				month = m.Month
			}
		}
		want[month]++
	}
	for _, of := range x.parts {
		d := must.Have(x.maker(t, nil).Readings(of.Tenant).Day(t.Context(), of.Day, of.Month))(t)
		if d.Rows != want[of.Month] {
			t.Error(append(about, "partition", of.Month, "has", d.Rows, "rows, and should have", want[of.Month])...)
		}
	}
}

// erases has the device of a partition erased.
func (x *mergeFleet) erases(t testing.TB, n int) {
	t.Helper()
	x.vanishMember(t, n)
	m := x.member(n)
	must.Have(x.maker(t, nil).Erase(t.Context(), m.Month, m.Tenant, m.Device))(t)
}

// TestEachPartitionHasItsRows of a file that has several, also after an erasure.
func TestEachPartitionHasItsRows(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 5, summed)
		x.merge(t)
		x.counts(t, "merged")
		x.erases(t, 2)
		x.counts(t, "erased")
		x.vanishMember(t, 3)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
		x.counts(t, "made beside an erasure")
		late := x.sends(t, 1)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1], late))
		x.vanishMember(t, 4)
		for range 4 { // the last of them takes over
			late := x.sends(t, 1)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1], late))
		}
		x.merge(t)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
		x.counts(t, "late rows beside an erasure")
	}
}

// TestAKilledMergeOfAnErasedPartitionIsFinished: it was killed between rollups and readings, and the only device of a
// partition is erased then, so that no file of readings has that partition.
func TestAKilledMergeOfAnErasedPartitionIsFinished(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newMerge(t, 5, true)
	maker := func(through *faults.Gate) *archive.Tables {
		m := x.tablesFleet.maker(t, nil)
		if through != nil {
			m = x.tablesFleet.maker(t, through)
		}
		m.Summed = archive.Summed{Rollups: []schema.Window{schema.Hour}}
		return m
	}
	x.again(t)
	for _, of := range x.parts {
		must.Succeed(t, maker(nil).MakeDay(t.Context(), of))
	}
	for n := 0; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		_, err := maker(&faults.Gate{At: n, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}).Merge(ctx, x.day.Tenant, x.day.Day)
		kill()
		if err == nil {
			t.Fatal("no operation is between rollups and readings")
		}
		if files := x.files(t); files["rollups-1h"] < 5 && files["readings"] == 5 {
			break
		}
	}
	x.vanishMember(t, 2)
	m := x.member(2)
	must.Have(maker(nil).Erase(t.Context(), m.Month, m.Tenant, m.Device))(t)
	for must.Have(maker(nil).Merge(t.Context(), x.day.Tenant, x.day.Day))(t) {
	}
	if files := x.files(t); files["rollups-1h"] != 1 || files["readings"] != 1 {
		t.Errorf("files %v", files)
	}
	same(t, x.newest(t), x.want(t))
}

// TestAMergeTellsOfChangedSites: whoever follows the table reads the rows again, as they are no longer the same.
func TestAMergeTellsOfChangedSites(t *testing.T) {
	t.Parallel()
	for _, changed := range []bool{false, true} {
		x := newMerge(t, 5, false)
		if m := x.member(2); changed {
			m.Site = "another"
			must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(),
				tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
		}
		x.merge(t)
		if v := x.newestVersion(t); v.Added[0].DataChange != changed || v.Removed[0].DataChange != changed {
			t.Errorf("changed: %v, and the version says %+v", changed, v)
		}
	}
}

// TestForgottenPartitionsHaveNoRows: where days are kept longer again, and made again, each has those that it has.
func TestForgottenPartitionsHaveNoRows(t *testing.T) {
	t.Parallel()
	x := newMerge(t, 5, false)
	x.merge(t)
	must.Have(x.maker(t, nil).Forget(t.Context(), x.day.Tenant, x.day.Day+1))(t)
	for _, of := range x.parts {
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
	}
	x.counts(t)
	x.good(t)
}

// asks asks for what a device of a partition has sent late, some time after rows of that were taken in, and reports
// whether it was made.
func (x *mergeFleet) asks(t testing.TB, n int, device schema.DeviceID, after time.Duration) bool {
	t.Helper()
	m, of := x.maker(t, nil), x.parts[n]
	taken := must.Have(m.Readings(of.Tenant).Day(t.Context(), of.Day, of.Month))(t).Taken
	mark := schema.Mark{Month: of.Month, Kind: schema.ArchiveMark, Tenant: of.Tenant,
		Name: schema.ArchivePart{Day: of.Day, Device: device}.Name(), At: taken.Add(after - 3*time.Minute),
		Read: taken.Add(after)}
	err := m.Make(t.Context(), []schema.Mark{mark})
	if err != nil && !errors.Is(err, groups.ErrWaits) {
		t.Fatal(err)
	}
	return err == nil
}

// TestPartitionsThatShareFilesWaitForThemselves alone: late rows of each are taken in hourly, and many soon, whatever
// comes of others.
func TestPartitionsThatShareFilesWaitForThemselves(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 8, summed)
		for n := range x.parts { // over an hour ago, whatever the time
			x.parts[n].Day--
		}
		x.day.Day--
		for n, of := range x.parts {
			if n > 0 {
				x.sends(t, n)
			}
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
		}
		x.merge(t)
		x.sends(t, 1)
		must.Succeed(t, x.maker(t, faults.Later(40*time.Minute)).MakeDay(t.Context(), x.parts[1]))
		late := x.sends(t, 2)
		if x.asks(t, 2, late, time.Hour-1) {
			t.Error("a late row does not wait")
		}
		if !x.asks(t, 2, late, time.Hour) {
			t.Error("a late row waits for those of another partition")
		}
		var all []tables.Entity
		for n := range 100 {
			e := tables.Entity{PartitionKey: string(x.World.Devices[0]),
				RowKey: fmt.Sprint(x.day.Day.Start()+tables.Ticks(n+2), "-many")}
			e.Set("many", tables.Double(float64(n)))
			all = append(all, e)
		}
		jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), all...)
		f := *x.Fleet
		f.Names = x.source
		must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
		if x.asks(t, 0, x.World.Devices[0], 10*time.Minute-1) || !x.asks(t, 0, x.World.Devices[0], 10*time.Minute) {
			t.Error("many late rows of a partition are few among those of all")
		}
		x.counts(t)
		same(t, x.newest(t), x.want(t))
	}
}

// TestADayOfManyPartitionsIsMadeInOneVersion: late rows of one come beside those of others, each time of other ones,
// and become one with them. One version still replaces all files of a partition, and of those that share some with it,
// where rollups are asked for.
func TestADayOfManyPartitionsIsMadeInOneVersion(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	x := newMerge(t, 110, false)
	x.merge(t)
	for round := range 5 {
		for n := range 22 {
			n += 1 + 22*round
			if n >= len(x.parts) {
				break
			}
			late := x.sends(t, n)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[n], late))
		}
		late := x.sends(t, 1)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1], late))
		x.merge(t)
		t.Log(x.files(t))
	}
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
	x.counts(t)
	x.summed = true
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
	x.counts(t, "with rollups")
}
