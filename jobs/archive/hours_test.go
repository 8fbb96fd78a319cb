package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// hoursOf returns a day's hours.
func hoursOf(day archive.TableDay) (all []archive.TableDay) {
	for day.Hour = 1; day.Hour <= 24; day.Hour++ {
		all = append(all, day)
	}
	return all
}

// makeHours makes all hours of a day.
func makeHours(t testing.TB, m *archive.Tables, day archive.TableDay) {
	t.Helper()
	for _, hour := range hoursOf(day) {
		must.Succeed(t, m.MakeDay(t.Context(), hour))
	}
}

// versions returns what each published version of the table of readings has: whatever a reader follows, and whenever,
// it sees one of them.
func (x *tablesFleet) versions(t testing.TB) (each []map[string]string) {
	t.Helper()
	all, root := objects(t, x.World.Account, x.Names.Archive()), delta.Folder(string(x.day.Tenant))+"/readings/"
	files, live := map[string]map[string]string{}, delta.Live{}
	for n := int64(0); all[root+delta.VersionFile(n)] != nil; n++ {
		must.Succeed(t, live.Follow(all[root+delta.VersionFile(n)]))
		has := map[string]string{}
		for path := range live {
			if files[path] == nil {
				files[path] = x.readingsOf(t, all[root+path], path[:len("date=2026-11-20")])
			}
			for id, values := range files[path] {
				if has[id] != "" {
					t.Errorf("version %d has %s twice", n, id)
				}
				has[id] = values
			}
		}
		each = append(each, has)
	}
	return each
}

// late inserts a row of a device.
func (x *tablesFleet) late(t testing.TB, device schema.DeviceID, at tables.Ticks) {
	t.Helper()
	late := tables.Entity{PartitionKey: string(device), RowKey: at.String() + "-late"}
	late.Set("late", tables.Double(1))
	jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), late)
}

// wantHour returns what the table should have of an hour.
func (x *tablesFleet) wantHour(t testing.TB, hour archive.TableDay) map[string]string {
	t.Helper()
	from, to := hour.Times()
	all := x.want(t)
	maps.DeleteFunc(all, func(id, _ string) bool {
		key := id[strings.Index(id, "/")+1:]
		return key < from.String() || key >= to.String()
	})
	return all
}

// TestHoursHaveEachReadingOnceUntilTheirDayReplacesThem: in one version. Those of other tenants and partitions of the
// fleet stay.
func TestHoursHaveEachReadingOnceUntilTheirDayReplacesThem(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	for _, m.FileBytes = range []int{0, 1} {
		x.again(t)
		other := m.FileBytes
		m = x.maker(t, nil)
		m.FileBytes = other
		makeHours(t, m, x.day)
		same(t, x.read(t), x.want(t), "hours")
		first := hoursOf(x.day)[0]
		x.late(t, x.World.Devices[0], x.day.Day.Start()+tables.Ticks(m.FileBytes))
		must.Succeed(t, m.MakeDay(t.Context(), first))
		want := x.want(t)
		same(t, x.read(t), want, "a late reading")
		for _, hour := range hoursOf(x.day) {
			for _, problem := range must.Have(m.VerifyDay(t.Context(), hour))(t) {
				t.Error(problem)
			}
		}

		t1 := x.day
		t1.Tenant = "t1"
		makeHours(t, m, t1)
		y := *x
		y.day = t1
		versions := len(x.versions(t))
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		same(t, x.read(t), want, "the day")
		same(t, y.read(t), y.want(t), "hours of another tenant")
		all := x.versions(t)
		if len(all) != versions+1 {
			t.Errorf("the day takes %d versions", len(all)-versions)
		}
		// An hour that a slow job makes afterwards changes nothing.
		must.Succeed(t, m.MakeDay(t.Context(), hoursOf(x.day)[0]))
		if n := len(x.versions(t)); n != len(all) {
			t.Errorf("an hour of a day that was made changed it: %d versions, %d before", n, len(all))
		}
		for _, problem := range must.Have(m.VerifyDay(t.Context(), x.day))(t) {
			t.Error(problem)
		}
	}
}

// TestHoursOfAnotherPartitionStay when the day of one is made, and each reading in its hour: the other's only readings
// of an hour are of its first moment, or of its last.
func TestHoursOfAnotherPartitionStay(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	m, client := x.maker(t, nil), x.World.Connect(t, nil)
	shard := x.day
	shard.Month.Shard = 3
	device := schema.Member{Device: "contoso:other", Tenant: x.day.Tenant, Month: shard.Month, Readings: x.Readings}
	must.Have(client.Table(x.source.Fleet()).Do(t.Context(), tables.Insert(must.Have(device.Entity())(t))))(t)
	for n, hour := range hoursOf(shard) {
		from, to := hour.Times()
		x.late(t, device.Device, []tables.Ticks{from, to - 1}[n%2])
	}
	want := x.want(t) // a device that the world does not know is taken for one of the first tenant
	makeHours(t, m, shard)
	makeHours(t, m, x.day)
	same(t, x.read(t), want, "hours of both")
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want, "the day of one")
	for _, hour := range hoursOf(shard)[4:8] {
		must.Succeed(t, m.MakeDay(t.Context(), hour))
		same(t, x.read(t), want, hour.When(), " of the other again")
	}
	must.Succeed(t, m.MakeDay(t.Context(), shard))
	same(t, x.read(t), want, "the day of both")
}

// TestOnlyHoursOfOpenDaysAreMade, once they are over, and where they are asked for.
func TestOnlyHoursOfOpenDaysAreMade(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	hour := hoursOf(x.day)[7]
	for ; len(x.wantHour(t, hour)) == 0; hour.Hour++ {
	}
	_, end := hour.Times()
	_, dayEnd := x.day.Times()
	has := func(at tables.Ticks) bool {
		t.Helper()
		mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: hour.When(),
			At: at, Read: at}
		err := m.Make(t.Context(), []schema.Mark{mark})
		early := at < end.Add(m.CloseAfter) && m.Hourly
		if early != errors.Is(err, groups.ErrNotYet) || !early && err != nil {
			t.Errorf("at %v: %v", at.Time(), err)
		}
		return len(x.read(t)) > 0
	}
	if has(end) {
		t.Error("nobody has asked for hours")
	}
	m.Hourly = true
	if has(end-1) || has(dayEnd) {
		t.Error("an hour is made too early, or too late")
	}
	m.CloseAfter = time.Minute
	if has(end) || !has(end.Add(time.Minute)) {
		t.Error("an hour is not made once it is closed")
	}
	same(t, x.read(t), x.wantHour(t, hour))
	if due := m.Due(x.day, end.Add(time.Minute)); len(due) != int(hour.Hour) || due[len(due)-1] != hour {
		t.Errorf("due are %v", due)
	}
	if due := m.Due(x.day, dayEnd.Add(time.Minute)); len(due) != 1 || due[0] != x.day {
		t.Errorf("due are %v", due)
	}
}

// TestKilledMakersOfADayHideNoReadingOfItsHours at any operation: each version of the log has all readings of the
// hours, or all of the day.
func TestKilledMakersOfADayHideNoReadingOfItsHours(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	want := x.want(t)
	var some []archive.TableDay
	hours := map[string]string{} // their readings
	for _, hour := range hoursOf(x.day) {
		if own := x.wantHour(t, hour); len(own) > 0 && len(some) < 2 {
			some = append(some, hour)
			maps.Copy(hours, own)
		}
	}
	for n, more := 0, true; more; n += effort.Step(11) {
		x.again(t)
		calm := x.maker(t, nil)
		for _, hour := range some {
			must.Succeed(t, calm.MakeDay(t.Context(), hour))
		}
		began := len(x.versions(t)) - 1
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
		err := x.maker(t, gate).MakeDay(ctx, x.day)
		kill()
		if more = int(gate.N.Load()) > n; more != (err != nil) {
			t.Fatalf("operation %d: %v", n, err)
		}
		must.Succeed(t, calm.MakeDay(t.Context(), some[0])) // as its mark may be there
		must.Succeed(t, calm.MakeDay(t.Context(), x.day))
		for v, has := range x.versions(t)[began:] {
			if jobstest.Differ(has, hours) != "" {
				same(t, has, want, "operation ", n, ", version ", v)
			}
		}
		same(t, x.read(t), want, "after operation ", n)
		if !more {
			t.Logf("%d operations", n)
		}
	}
}

// TestHoursKeepWhatRetentionHasDeleted: all rows of one device, some of another, beside late rows of a third.
func TestHoursKeepWhatRetentionHasDeleted(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newTables(t)
	m := x.maker(t, nil)
	m.FileBytes = 1
	makeHours(t, m, x.day)
	want := x.want(t)
	x.retire(t, x.World.Devices[0])
	f := *x.Fleet
	f.Names = x.source
	raise(t, &f, x.World.Devices[1], x.day.Day)
	forget(t, &f, x.World.Devices[1], x.day.Day, 2)
	for _, hour := range hoursOf(x.day) {
		from, _ := hour.Times()
		x.late(t, x.World.Devices[2], from)
	}
	for id, values := range x.want(t) {
		want[id] = values
	}
	makeHours(t, m, x.day)
	same(t, x.read(t), want, "hours again")
	for _, hour := range hoursOf(x.day) {
		for _, problem := range must.Have(m.VerifyDay(t.Context(), hour))(t) {
			t.Error(problem)
		}
	}
	for range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		same(t, x.read(t), want, "the day")
		for _, problem := range must.Have(m.VerifyDay(t.Context(), x.day))(t) {
			t.Error(problem)
		}
	}
}

// TestVerifyingAnHourNamesALateReading, and not those of other hours.
func TestVerifyingAnHourNamesALateReading(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	makeHours(t, m, x.day)
	hours := hoursOf(x.day)
	from, _ := hours[5].Times()
	x.late(t, x.World.Devices[0], from)
	for _, hour := range hours {
		problems := fmt.Sprint(must.Have(m.VerifyDay(t.Context(), hour))(t))
		if missing := strings.Contains(problems, "-late is missing"); missing != (hour == hours[5]) ||
			!missing && problems != "[]" {
			t.Errorf("%s: %s", hour.When(), problems)
		}
	}
}
