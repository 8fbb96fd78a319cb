package archive_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// hoursOf returns the folders of a day's hours.
func hoursOf(day archive.Folder) (all []archive.Folder) {
	for day.Hour = 1; day.Hour <= 24; day.Hour++ {
		all = append(all, day)
	}
	return all
}

// byHour returns the readings of a folder's tenant and day, as the files of its hours should have them.
func byHour(t testing.TB, f *jobstest.Fleet, folder archive.Folder) map[string]string {
	t.Helper()
	all := of(f, folder, expected(t, f, func(day schema.Day) bool { return day == folder.Day }))
	for id, values := range all {
		key := must.Have(schema.ParseRowKey(id[strings.Index(id, "/")+1:]))(t)
		hour := archive.Hour(1 + key.Ticks.Time().Hour())
		date := "date=" + folder.Day.String()
		all[id] = strings.Replace("hours/"+values, date, date+"/hour="+hour.String(), 1)
	}
	return all
}

// TestHoursHaveEachReadingOnceUntilTheirDayReplacesThem: those of other tenants and partitions stay.
func TestHoursHaveEachReadingOnceUntilTheirDayReplacesThem(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, d, day := fewFiles(t)
	small(d).Hourly = true
	d.Summed = archive.Summed{Rollups: []schema.Window{schema.Daily}}
	want, readings := byHour(t, f, day), int64(0)
	for _, hour := range hoursOf(day) {
		m := must.Have(d.MakeDay(t.Context(), hour, archive.Asked{}))(t)
		readings += m.Readings
		stored := d.Readings(hour)
		for wrong, err := range d.Store.Verify(t.Context(), hour, m, &stored) {
			t.Error(hour, wrong, err)
		}
	}
	same(t, archived(t, f), want)
	if readings != int64(len(want)) {
		t.Errorf("the manifests of hours have %d readings of %d", readings, len(want))
	}
	late := tables.Entity{PartitionKey: string(f.World.Devices[0]), RowKey: day.Day.Start().String() + "-late"}
	late.Set("late", tables.Double(1))
	jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), late)
	asked := archive.Asked{Devices: []schema.DeviceID{f.World.Devices[0]}}
	must.Have(d.MakeDay(t.Context(), hoursOf(day)[0], asked))(t)
	want = byHour(t, f, day)
	same(t, archived(t, f), want, "a late reading")

	shard, other := day, day
	shard.Month.Shard, other.Tenant = 3, "t1"
	for _, folder := range []archive.Folder{hoursOf(shard)[0], hoursOf(other)[0]} {
		must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	}
	left := map[string]int{}
	must.Have(d.MakeDay(t.Context(), day, archive.Asked{}))(t)
	for folder, err := range d.Store.Folders(t.Context(), "") {
		must.Succeed(t, err)
		left[folder.Month.String()+" "+folder.String()]++
	}
	hour := "hours/tenant=t0/date=" + day.Day.String() + "/hour=00/"
	if want := map[string]int{day.Month.String() + " " + day.String(): 1, shard.Month.String() + " " + hour: 1,
		day.Month.String() + " " + strings.Replace(hour, "t0", "t1", 1): 1}; !maps.Equal(left, want) {
		t.Errorf("folders %v, want %v", left, want)
	}
	// An hour that a slow job makes afterwards goes at once.
	must.Have(d.MakeDay(t.Context(), hoursOf(day)[5], archive.Asked{}))(t)
	if has := must.Have(d.Store.Has(t.Context(), hoursOf(day)[5]))(t); has {
		t.Error("an hour of a day that has its files stays")
	}
}

// TestOnlyHoursOfOpenDaysAreMade, once they are over, and where they are asked for.
func TestOnlyHoursOfOpenDaysAreMade(t *testing.T) {
	t.Parallel()
	_, d, day := fewFiles(t)
	hour := hoursOf(day)[7]
	_, end := hour.Times()
	has := func(at tables.Ticks) bool {
		t.Helper()
		m := schema.Mark{Month: day.Month, Kind: schema.ArchiveMark, Tenant: day.Tenant, Name: hour.When(),
			At: at, Read: at}
		err := d.Make(t.Context(), []schema.Mark{m})
		if at == end-1 && d.Hourly {
			if err == nil {
				t.Error("an hour that is not over is made")
			}
		} else {
			must.Succeed(t, err)
		}
		return must.Have(d.Store.Has(t.Context(), hour))(t)
	}
	if has(end) {
		t.Error("nobody has asked for hours")
	}
	d.Hourly = true
	_, dayEnd := day.Times()
	if has(end-1) || has(dayEnd) || !has(end) {
		t.Error("an hour is made too early, too late or never")
	}
	if due := d.Due(day, end); len(due) != 8 || due[7] != hour {
		t.Errorf("due are %v", due)
	}
	if due := d.Due(day, dayEnd); len(due) != 1 || due[0] != day {
		t.Errorf("due are %v", due)
	}
}

// TestKilledMakersOfADayHideNoReadingOfItsHours at any operation: each reading is always in one file of a day or of an
// hour, and in both only between the first file of the day and the end of the job that is not killed.
func TestKilledMakersOfADayHideNoReadingOfItsHours(t *testing.T) {
	t.Parallel()
	f, _, day := fewFiles(t)
	names := f.Names
	want := of(f, day, expected(t, f, func(d schema.Day) bool { return d == day.Day }))
	followed := 0
	var some []archive.Folder
	hours := map[string]string{} // their readings
	for _, hour := range hoursOf(day) {
		if own := inFolder(t, f, hour); len(own) > 0 && len(some) < 2 {
			some = append(some, hour)
			maps.Copy(hours, own)
		}
	}
	for n := 0; ; n += effort.Step(11) {
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if n%2 == 0 {
				if r, err := send(); err == nil {
					_ = r.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}}
		d := elsewhere(t, f, gate)
		calm := small(daysOf(t, f, nil))
		d.Source.Names, calm.Source.Names = names, names
		for _, hour := range some {
			must.Have(calm.MakeDay(t.Context(), hour, archive.Asked{}))(t)
		}
		_, err := d.MakeDay(ctx, day, archive.Asked{})
		kill()
		killed := int(gate.N.Load()) > n
		if killed != (err != nil) {
			t.Fatalf("operation %d: %v", n, err)
		}
		inDays, inHours := archivedIn(t, f, "tenant="), archivedIn(t, f, "hours/")
		for id, values := range want {
			if hours[id] != "" && inDays[id] == "" && inHours[id] != hours[id] || inDays[id] != "" && inDays[id] != values {
				t.Fatalf("operation %d: %s is %q in days, %q in hours", n, id, inDays[id], inHours[id])
			}
		}
		if !killed && len(inHours) > 0 || described(t, f, calm.Store, day) && len(inDays) != len(want) {
			t.Fatalf("operation %d, killed %v: %d readings in days, %d in hours", n, killed, len(inDays), len(inHours))
		}
		if described(t, f, calm.Store, day) && len(inHours) > 0 { // its mark is gone, for all that others know
			next := day
			next.Day++
			must.Have(calm.MakeDay(t.Context(), next, archive.Asked{}))(t)
			followed++
			if left := len(archivedIn(t, f, "hours/")); left > 0 {
				t.Fatalf("operation %d: with the next day, %d readings are left in hours", n, left)
			}
			continue
		}
		must.Have(calm.MakeDay(t.Context(), day, archive.Asked{}))(t)
		same(t, archived(t, f), want, "after operation ", n)
		if !killed {
			t.Logf("%d operations", n)
			if followed == 0 && effort.Long() {
				t.Error("no maker was killed between the manifest and the hours")
			}
			return
		}
	}
}
