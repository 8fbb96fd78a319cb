package archive_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// sums returns the rows of the live files of a table.
func (x *tablesFleet) sums(t *testing.T, table string) map[string]string {
	t.Helper()
	got, all := map[string]string{}, objects(t, x.World.Account, x.Names.Archive())
	of := x.maker(t, nil).Catalog.Table(x.day.Tenant, table)
	for f, err := range of.Files(t.Context(), x.day.Day, x.day.Day) {
		must.Succeed(t, err)
		rowsAsKeys(t, all[of.Path(&f)], got)
	}
	return got
}

// TestErasedDevicesLeaveRollupsAndReports: these are what the readings say, also where the erasure was killed and
// repeated.
func TestErasedDevicesLeaveRollupsAndReports(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 41, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		m, device := x.maker(t, nil), x.World.Devices[0]
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		x.vanish(t, device)
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}
		_, err := x.maker(t, gate).Erase(ctx, x.day.Month, x.day.Tenant, device)
		kill()
		if err != nil {
			must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
		}
		got := map[string]map[string]string{}
		names := []string{"rollups-1h", "rollups-1d", "reports-1h"}
		for _, name := range names {
			got[name] = x.sums(t, name)
		}
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		for _, name := range names {
			if want := x.sums(t, name); fmt.Sprint(got[name]) != fmt.Sprint(want) {
				t.Errorf("killed at operation %d: table %s is not what its readings say", n, name)
			}
		}
		return int(gate.N.Load()) > n
	})
}

// TestErasedDevicesLeaveFormerTables: rollups that are no longer configured.
func TestErasedDevicesLeaveFormerTables(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m, device := x.maker(t, nil), x.World.Devices[0]
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	x.vanish(t, device)
	m.Summed.Rollups = []schema.Window{schema.Daily}
	must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
	x.nowhere(t, string(device))
}

// TestErasuresKeepFormerReportsOfOthers: reports are no longer configured. Once a device is erased, they have the
// readings of the others, in the same groups as before.
func TestErasuresKeepFormerReportsOfOthers(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m, device := x.maker(t, nil), x.World.Devices[0]
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	x.vanish(t, device)
	former := x.maker(t, nil)
	former.Summed.Reports, former.Summed.By = nil, nil
	must.Have(former.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
	got := x.sums(t, "reports-1h")
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	if want := x.sums(t, "reports-1h"); len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d rows of reports, want %d", len(got), len(want))
	}
}

// TestDaysOfManyPartitionsAreForgotten, in more than one version.
func TestDaysOfManyPartitionsAreForgotten(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	r := m.Readings(x.day.Tenant)
	must.Succeed(t, r.Create(t.Context(), []delta.Column{{Name: "device", Type: delta.Text}, {Name: "date",
		Type: delta.Date}}))
	for n := range 36 {
		s := must.Have(r.Begin(t.Context(), x.day.Day))(t)
		f := must.Have(r.Pend(t.Context(), x.day.Day))(t)
		month := schema.Month{Year: 2023 + n/12, Month: time.Month(1 + n%12)}
		f.Months, f.Stats.Rows = []schema.Month{month}, 1
		must.Succeed(t, m.Store.Put(t.Context(), r.Path(&f), []byte("x"), ""))
		must.Have(r.Commit(t.Context(), s, &catalog.Change{Days: []catalog.Day{s.Day(month)}, New: []catalog.File{f}}))(t)
	}
	must.Have(m.Forget(t.Context(), x.day.Tenant, x.day.Day+1))(t)
}

// TestForgettingIsPublished, where it was killed before that and repeated, and nothing is left to forget.
func TestForgettingIsPublished(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	for n := 0; n < 3; n++ {
		ctx, kill := context.WithCancel(t.Context())
		stop := faults.Func(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "_delta_log") {
				kill()
				return nil, context.Canceled
			}
			return http.DefaultTransport.RoundTrip(r)
		})
		_, _ = x.maker(t, stop).Forget(ctx, x.day.Tenant, x.day.Day+1)
		kill()
	}
	must.Have(m.Forget(t.Context(), x.day.Tenant, x.day.Day+1))(t)
	if left := x.read(t); len(left) > 0 {
		t.Errorf("the log still shows %d readings that are no longer kept", len(left))
	}
}

// TestALeftDeviceKeepsItsReadings: while a maker makes the day again, retention deletes its rows, and then it is
// removed, with its data kept.
func TestALeftDeviceKeepsItsReadings(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 4, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		f := *x.Fleet
		f.Names = x.source
		device := x.World.Devices[0]
		member := x.World.Member(device, x.Readings)
		want := x.want(t)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			x.retire(t, device)
			up := member
			up.Watermark = (x.day.Day + 1).Start()
			leave(t, &f, up) // and the device is removed, with its data kept
			return send()
		}}
		must.Succeed(t, x.maker(t, gate).MakeDay(t.Context(), x.day))
		same(t, x.read(t), want, "retention of a device that left, at operation ", n)
		return int(gate.N.Load()) > n
	})
}

// interleaved stops an erasure at each operation while others act.
func interleaved(t *testing.T, step int, what string, act func(x *tablesFleet)) {
	t.Helper()
	effort.Each(t, 5*step, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		m := x.maker(t, nil)
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		one, two := x.World.Devices[0], x.World.Devices[2]
		x.vanish(t, one)
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			act(x)
			return send()
		}}
		if _, err := x.maker(t, gate).Erase(t.Context(), x.day.Month, x.day.Tenant, one); err != nil {
			t.Fatalf("%s at operation %d: %v", what, n, err)
		}
		must.Have(m.Clean(t.Context(), x.day.Tenant))(t)
		x.nowhere(t, string(one), what, n)
		if what == "erasure" && int(gate.N.Load()) > n {
			x.nowhere(t, string(two), what, n)
		}
		same(t, x.newest(t), x.want(t), what, n)
		return int(gate.N.Load()) > n
	})
}

// TestTwoErasuresAtOnce erase both devices.
func TestTwoErasuresAtOnce(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	interleaved(t, 5, "erasure", func(x *tablesFleet) {
		x.vanish(t, x.World.Devices[2])
		must.Have(x.maker(t, nil).Erase(t.Context(), x.day.Month, x.day.Tenant, x.World.Devices[2]))(t)
	})
}

// TestErasureBesideAMaker leaves what others have sent.
func TestErasureBesideAMaker(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	interleaved(t, 5, "maker", func(x *tablesFleet) {
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
		must.Have(x.maker(t, nil).Clean(t.Context(), x.day.Tenant))(t)
	})
}

// TestErasureBesideCleaning, a day later.
func TestErasureBesideCleaning(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	interleaved(t, 4, "cleaning", func(x *tablesFleet) {
		must.Have(x.maker(t, faults.Later(25*time.Hour)).Clean(t.Context(), x.day.Tenant))(t)
	})
}

// TestTwoErasuresOfOneFile at once erase both devices, also where there are no reports.
func TestTwoErasuresOfOneFile(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	effort.Each(t, 5, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		m := x.maker(t, nil)
		m.Summed.Reports = nil
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		one, two := x.World.Devices[0], x.World.Devices[2]
		x.vanish(t, one)
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			x.vanish(t, two)
			must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, two))(t)
			return send()
		}}
		first := x.maker(t, gate)
		first.Summed = m.Summed
		must.Have(first.Erase(t.Context(), x.day.Month, x.day.Tenant, one))(t)
		must.Have(m.Clean(t.Context(), x.day.Tenant))(t)
		x.nowhere(t, string(one), "two erasures, operation ", n)
		return int(gate.N.Load()) > n
	})
}

// TestErasedRollupsAreAsMadeAgain from the readings that are left.
func TestErasedRollupsAreAsMadeAgain(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	m.Summed.Reports = nil
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	x.vanish(t, x.World.Devices[0])
	must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, x.World.Devices[0]))(t)
	got := x.sums(t, "rollups-1h")
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, got, x.sums(t, "rollups-1h"))
}

// TestErasureBesideAForeignLog: where somebody else has written into the log, an erasure still deletes, and says so.
func TestErasureBesideAForeignLog(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m, device := x.maker(t, nil), x.World.Devices[0]
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	r := m.Readings(x.day.Tenant)
	must.Succeed(t, m.Store.Put(t.Context(), r.Folder()+delta.VersionFile(2), []byte("{}"), ""))
	x.vanish(t, device)
	for range 2 {
		if _, err := m.Erase(t.Context(), x.day.Month, x.day.Tenant, device); err == nil {
			t.Error("no error")
		}
	}
	for name, content := range objects(t, x.World.Account, x.Names.Archive()) {
		if strings.HasSuffix(name, ".parquet") && strings.Contains(textsOf(t, content), string(device)) {
			t.Errorf("%s still has it", name)
		}
	}
}

// TestReportsOfASuspendedMakerAreErased: it has read a device, and stands still before it commits reports. The device
// is erased, and the maker goes on and is killed.
func TestReportsOfASuspendedMakerAreErased(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 6, func(t *testing.T, n int) (more bool) {
		x := newTables(t)
		m, device := x.maker(t, nil), x.World.Devices[0]
		m.Summed.Rollups = nil
		ctx, kill := context.WithCancel(t.Context())
		var stopped atomic.Bool
		var after atomic.Int32
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			stopped.Store(true)
			x.vanish(t, device)
			must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, device))(t)
			return send()
		}}
		through := faults.Func(func(r *http.Request) (*http.Response, error) {
			if stopped.Load() && after.Add(1) > 6 {
				kill()
				return nil, context.Canceled
			}
			return gate.Do(r)
		})
		first := x.maker(t, through)
		first.Summed = m.Summed
		_ = first.MakeDay(ctx, x.day)
		kill()
		if !stopped.Load() {
			return false
		}
		got := x.sums(t, "reports-1h")
		if len(got) == 0 {
			return true
		}
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		if fmt.Sprint(got) != fmt.Sprint(x.sums(t, "reports-1h")) {
			t.Errorf("operation %d: reports have values of an erased device", n)
		}
		return true
	})
}
