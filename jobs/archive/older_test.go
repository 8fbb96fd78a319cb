package archive_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestOlderDaysAreTakenOver(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for what, before := range map[string]func(x *olderFleet){
		"all rows are there": func(*olderFleet) {},
		"some are gone":      func(x *olderFleet) { x.some(t) },
		"all are gone": func(x *olderFleet) {
			for device := range x.members {
				x.retire(t, device, olderFirst+2, 1)
			}
		},
		"two devices were erased": func(x *olderFleet) {
			for _, device := range []schema.DeviceID{"acme:3", "_under"} {
				x.erase(t, device)
				must.Have(x.maker(t, nil).Erase(t.Context(), jobstest.Month, x.members[device].Tenant, device))(t)
				x.nowhere(t, string(device))
			}
		},
	} {
		x := newOlder(t)
		before(x)
		m := x.maker(t, nil)
		x.markAll(t, m)
		must.Succeed(t, x.work(t.Context(), m))
		x.migrated(t, what)
		for range 2 {
			again := x.maker(t, nil)
			x.markAll(t, again)
			must.Succeed(t, x.work(t.Context(), again))
			x.migrated(t, what, ", again")
		}
	}
}

// TestKilledTakeoversLoseNothing: whoever works the marks off is killed at an operation, and another goes on;
// meanwhile a late row comes, and a device is erased.
func TestKilledTakeoversLoseNothing(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 151, func(t *testing.T, n int) (more bool) {
		x := newOlder(t)
		x.some(t)
		calm := x.maker(t, nil)
		x.markAll(t, calm)
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
		err := x.work(ctx, x.maker(t, gate))
		kill()
		if more = int(gate.N.Load()) > n; more != (err != nil) {
			t.Fatalf("operation %d: %v", n, err)
		}
		for id, cells := range x.has(t) {
			if want := x.wants(t)[id]; cells != want {
				t.Fatalf("operation %d: %s is %s, want %s", n, id, cells, want)
			}
		}
		if n%3 > 0 {
			late := tables.Entity{PartitionKey: "acme:3", RowKey: (olderFirst.Start() + 1).String()}
			late.Set("late", tables.Double(1))
			jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), late)
			x.raw[late.PartitionKey+"/"+late.RowKey] = late
			x.mark(t, calm, schema.Mark{Month: jobstest.Month, Tenant: acme, Name: olderFirst.String()})
		}
		if n%3 == 1 {
			for _, device := range []schema.DeviceID{"acme:2", "_under"} {
				x.erase(t, device)
				must.Have(x.maker(t, nil).Erase(t.Context(), jobstest.Month, x.members[device].Tenant, device))(t)
				x.nowhere(t, string(device), "after operation ", n)
			}
		}
		must.Succeed(t, x.work(t.Context(), x.maker(t, nil)))
		x.migrated(t, "after operation ", n)
		return more
	})
}

// TestHeldArchivesStayAsTheyAre: as long as workers of an earlier release may run, marks wait and nothing changes.
func TestHeldArchivesStayAsTheyAre(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	x := newOlder(t)
	m := x.maker(t, nil)
	m.Hold = true
	before := objects(t, x.World.Account, x.Names.Archive())
	x.markAll(t, m)
	must.Succeed(t, x.work(t.Context(), m))
	after := objects(t, x.World.Account, x.Names.Archive())
	if !maps.EqualFunc(before, after, slices.Equal[[]byte]) {
		t.Errorf("%d blobs were there, and %d are", len(before), len(after))
	}
	for _, e := range jobstest.Rows(t, x.World.Connect(t, nil).Table(x.rows), tables.Query{}) {
		t.Errorf("row %s was made", e.RowKey)
	}
	m.Hold = false
	must.Succeed(t, x.work(t.Context(), m)) // the marks have stayed
	x.markAll(t, m)
	must.Succeed(t, x.work(t.Context(), m))
	x.migrated(t)
}

// TestOlderDaysThatAreNoLongerKeptAreDeleted, and not taken over.
func TestOlderDaysThatAreNoLongerKeptAreDeleted(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newOlder(t)
	m := x.maker(t, nil)
	m.Source.Keep = []retain.Keep{{Archive: 9 * 24 * time.Hour}}
	now := (olderFirst + 10).Start().Add(time.Hour)
	for _, month := range olderMonths {
		var all []schema.Mark
		for mark, err := range m.All(t.Context(), m.Source, month) {
			must.Succeed(t, err)
			all = append(all, mark)
		}
		for _, mark := range append(all, schema.Mark{Month: month, Kind: schema.ArchiveMark, Tenant: acme,
			Name: (olderFirst + 2).String()}) {
			mark.At, mark.Read = now, now
			must.Succeed(t, m.Make(t.Context(), []schema.Mark{mark}))
		}
	}
	for id := range x.raw {
		if key := id[strings.Index(id, "/")+1:]; key < (olderFirst + 1).Start().String() {
			delete(x.raw, id)
		}
	}
	x.migrated(t)
	for _, d := range must.Have(collected(m.Readings(acme).Days(t.Context())))(t) {
		if d.Date == olderFirst {
			t.Errorf("the table has %v", d)
		}
	}
}

// TestAnErasureClosesNoOpenDay: it deletes hours of the older form, which have the device, and no day is made before
// it is over.
func TestAnErasureClosesNoOpenDay(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	x := newOlder(t)
	m, device, open := x.maker(t, nil), schema.DeviceID("acme:3"), olderFirst+2
	x.erase(t, device)
	must.Have(m.Erase(t.Context(), jobstest.Month, acme, device))(t)
	x.nowhere(t, string(device))
	if d := must.Have(m.Readings(acme).Day(t.Context(), open, jobstest.Month))(t); d.Changed > 0 {
		t.Errorf("the day that is open was made: %+v", d)
	}
	x.markAll(t, m)
	must.Succeed(t, x.work(t.Context(), m))
	x.migrated(t)
}

// TestTwoTakeoversAtOnce: one stands still at an operation while another takes the same days over.
func TestTwoTakeoversAtOnce(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, tenant := range []schema.Tenant{acme, globex} {
		effort.Each(t, 19, func(t *testing.T, n int) (more bool) {
			x := newOlder(t)
			x.some(t)
			day := archive.TableDay{Tenant: tenant, Day: olderFirst, Month: jobstest.Month}
			gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), day))
				return send()
			}}
			must.Succeed(t, x.maker(t, gate).MakeDay(t.Context(), day))
			more = int(gate.N.Load()) > n
			want := x.wants(t)
			maps.DeleteFunc(want, func(id, _ string) bool {
				device, key, _ := strings.Cut(id[len(tenant)+1:], "/")
				return !strings.HasPrefix(id, string(tenant)+"/") || key >= (olderFirst+1).Start().String() ||
					x.members[schema.DeviceID(device)].Month != day.Month
			})
			same(t, x.has(t), want, "operation ", n)
			for _, name := range x.olderBlobs(t) {
				base := name[strings.LastIndex(name, "/")+1:]
				if strings.Contains(name, "date="+olderFirst.String()) && !strings.Contains(base, olderShard.String()) &&
					strings.Contains(name, olderTenantOf(tenant)) {
					t.Errorf("operation %d: %s is left", n, name)
				}
			}
			return more
		})
	}
}

// olderTenantOf is the name of a tenant's folders.
func olderTenantOf(t schema.Tenant) string {
	return "tenant=" + strings.ReplaceAll(t.Key(), "=", "%") + "/"
}

// TestADamagedFileStopsNoOtherDay: neither one of an older form nor one of the tables. Its own mark stays, and is
// told.
func TestADamagedFileStopsNoOtherDay(t *testing.T) {
	t.Parallel()
	x := newOlder(t)
	x.some(t)
	m := x.maker(t, nil)
	for _, name := range x.olderBlobs(t) {
		if strings.HasPrefix(name, olderTenantOf(acme)+"date="+olderFirst.String()+"/"+jobstest.Month.String()+"-0000") ||
			strings.Contains(name, "readings/"+olderTenantOf(globex)+"date="+olderFirst.String()+"/g%3A1") {
			must.Succeed(t, m.Store.Delete(t.Context(), name))
			must.Succeed(t, m.Store.Put(t.Context(), name, []byte("PAR1 damaged"), ""))
		}
	}
	changed := func(day schema.Day) tables.Ticks {
		return must.Have(m.Readings(acme).Day(t.Context(), day, jobstest.Month))(t).Changed
	}
	for n := range 2 {
		before := changed(olderFirst + 2)
		x.markAll(t, m)
		w := must.Have(m.Source.Work(t.Context(), m, jobstest.Month, schema.ArchiveMark))(t)
		if len(w.Strange) != 2+n {
			t.Errorf("strange are %v", w.Strange)
		}
		for key := range w.Strange {
			if !strings.HasSuffix(key, olderFirst.String()) && (n == 0 || !strings.HasSuffix(key, (olderFirst+1).String())) {
				t.Errorf("strange is %s", key)
			}
		}
		if changed(olderFirst+1) == 0 || changed(olderFirst+2) == before {
			t.Error("the days after were not made")
		}
		for _, f := range must.Have(collected(m.Readings(acme).Files(t.Context(), olderFirst+1, olderFirst+1)))(t) {
			path := m.Readings(acme).Path(&f) // rows of its devices are gone
			must.Succeed(t, m.Store.Delete(t.Context(), path))
			must.Succeed(t, m.Store.Put(t.Context(), path, []byte("PAR1 damaged"), ""))
		}
	}
}
