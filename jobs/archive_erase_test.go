package jobs_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// erase removes a device from the fleet and from the archive, as device remove --data does.
func erase(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline, device schema.DeviceID) {
	t.Helper()
	m := f.World.Member(device, f.Readings)
	gone := tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)
	must.Have(p.Client.Table(f.Names.Fleet()).Do(t.Context(), gone))(t)
	must.Have(p.Forget(t.Context(), m))(t)
	must.Have(tablesOf(p).Erase(t.Context(), m.Month, m.Tenant, device))(t)
}

// TestErasedDevicesAreInNoFileOfAJobUnderWay: a device is removed with its data just before a group job, or somebody
// who makes the day again, writes anything to the archive. They go on or die then. Once the marks that stand are worked
// off, no file has the device.
func TestErasedDevicesAreInNoFileOfAJobUnderWay(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 26*time.Hour, 2, 12)
	w.Create(t, "all")
	for _, rows := range w.Rows {
		jobstest.Insert(t, w.Connect(t, nil).Table("all"), rows...)
	}
	for what, rewrites := range map[string]bool{"a job": false, "a rewrite": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := 0
			for erasedAt(t, w.NewFleetOf(t, "all"), n, true, rewrites) {
				erasedAt(t, w.NewFleetOf(t, "all"), n, false, rewrites)
				n++
			}
			t.Logf("%d objects were written", n)
		})
	}
}

// erasedAt erases a device before a maker writes its nth object, and reports whether it writes so many.
func erasedAt(t *testing.T, f *jobstest.Fleet, n int, dies, rewrites bool) bool {
	t.Helper()
	device, yesterday := f.World.Devices[0], schema.DayOf(tables.TicksOf(time.Now()))-1
	calm := filing(t, f, nil)
	newArchive(t, calm)
	must.Succeed(t, f.Drain(t.Context(), calm))
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		erase(t, f, calm, device)
		if dies {
			defer kill()
		}
		return send()
	}}
	p := filing(t, f, faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, f.Names.Archive()+"/") {
			return gate.Do(r)
		}
		return http.DefaultClient.Do(r)
	}))
	day := archive.TableDay{Tenant: "t0", Day: yesterday, Month: jobstest.Month}
	if rewrites {
		must.Succeed(t, file(t.Context(), calm)) // so that no mark stands
		_ = tablesOf(p).Remake(ctx, day)
	} else {
		_ = file(ctx, p)
	}
	stopped := int(gate.N.Load()) > n
	for left := []string{""}; len(left) > 0; left = closedMarks(t, f) {
		must.Succeed(t, file(t.Context(), calm))
	}
	got, want := filed(t, f), closedReadings(t, f, false)
	gone := func(id, _ string) bool { return stopped && strings.HasPrefix(id, string(device)+"/") }
	maps.DeleteFunc(want, gone)
	if difference := jobstest.Differ(got, want); difference != "" {
		t.Errorf("object %d, dies %v: %s", n, dies, difference)
	}
	must.Have(tablesOf(calm).Clean(t.Context(), day.Tenant))(t) // a maker that stood still may have put a file
	for name, content := range objects(t, f.World.Account, f.Names.Archive()) {
		if strings.HasSuffix(name, ".parquet") && strings.Contains(name, "/date=") && stopped && !dies {
			for _, one := range readingsOf(t, content) {
				if one.Device == device {
					t.Fatalf("object %d: the device is in %s, which no table has", n, name)
				}
			}
		}
	}
	return stopped
}
