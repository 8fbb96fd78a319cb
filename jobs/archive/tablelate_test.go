package archive_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A lateFleet has a large day of two devices, and late rows of both come one after the other.
type lateFleet struct {
	*tablesFleet
	summed bool // there are rollups and reports
	n      int  // of late rows
}

// newLate has the day, made as a whole, and files with late rows beside it.
func newLate(t testing.TB, files int, summed bool) *lateFleet {
	t.Helper()
	l := &lateFleet{tablesFleet: newTables(t), summed: summed}
	var many []tables.Entity
	for n := range 700 {
		e := tables.Entity{PartitionKey: string(l.World.Devices[0]), RowKey: l.day.Day.Start().Add(time.Duration(n)*
			time.Second).String() + "-many"}
		e.Set("many", tables.String(rand.Text()+rand.Text()))
		many = append(many, e)
	}
	jobstest.Insert(t, l.World.Connect(t, nil).Table(l.Readings), many...)
	must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day))
	for n := range files {
		must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day, l.sends(t, 2*(n%2))))
	}
	return l
}

// maker makes readings, with what is summed up of them or alone.
func (l *lateFleet) maker(t testing.TB, through policy.Transporter) *archive.Tables {
	m := l.tablesFleet.maker(t, through)
	if !l.summed {
		m.Summed = archive.Summed{}
	}
	return m
}

// sends has a device of the tenant send a late row.
func (l *lateFleet) sends(t testing.TB, n int) schema.DeviceID {
	t.Helper()
	l.n++
	device := l.World.Devices[n]
	l.late(t, device, l.day.Day.Start()+tables.Ticks(7*l.n))
	return device
}

// files returns the rows of each file.
func (l *lateFleet) files(t testing.TB) (rows []int64) {
	t.Helper()
	for _, f := range must.Have(collected(l.maker(t, nil).Readings(l.day.Tenant).AllFiles(t.Context())))(t) {
		rows = append(rows, f.Stats.Rows)
	}
	return rows
}

// TestLateRowsComeBesideTheDay: each is there once, the large file stays, and the small ones become one. The day is as
// old as it was, as rows of other devices may be missing.
func TestLateRowsComeBesideTheDay(t *testing.T) {
	t.Parallel()
	for _, summed := range []bool{false, true} {
		t.Run(fmt.Sprint("summed ", summed), func(t *testing.T) {
			t.Parallel()
			lateRowsComeBeside(t, newLate(t, 0, summed))
		})
	}
}

func lateRowsComeBeside(t *testing.T, l *lateFleet) {
	t.Helper()
	m := l.maker(t, nil)
	before := must.Have(m.Readings(l.day.Tenant).Day(t.Context(), l.day.Day, l.day.Month))(t)
	large := l.files(t)[0]
	for n := range 14 {
		device := l.sends(t, 2*(n%2))
		must.Succeed(t, m.MakeDay(t.Context(), l.day, device))
		same(t, l.read(t), l.want(t), "late row ", n)
		rows := l.files(t)
		if has := fmt.Sprint(rows); len(rows) < 2 || len(rows) > 7 || !strings.Contains(has, fmt.Sprint(large)) {
			t.Errorf("after late row %d, files have %s rows", n, has)
		}
		must.Succeed(t, m.MakeDay(t.Context(), l.day, device)) // nothing is new
	}
	after := must.Have(m.Readings(l.day.Tenant).Day(t.Context(), l.day.Day, l.day.Month))(t)
	if after.Watermark != before.Watermark || after.Rows != before.Rows+14 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if told := l.told(t, m); told != "" {
		t.Error(told)
	}
	versions := must.Have(collected(m.Readings(l.day.Tenant).Versions(t.Context(), 0)))(t)
	if why := versions[len(versions)-1].Why; why != "late rows of 1 devices" {
		t.Errorf("the last version is about %q", why)
	}
	must.Succeed(t, m.MakeDay(t.Context(), l.day))
	if same(t, l.read(t), l.want(t)); len(l.files(t)) != 1 {
		t.Errorf("made as a whole, files have %d rows", l.files(t))
	}
}

// TestManyLateRowsHaveTheDayMadeOfItsFiles: once their files are half as large as the day's own.
func TestManyLateRowsHaveTheDayMadeOfItsFiles(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	l := &lateFleet{tablesFleet: x}
	must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), x.day))
	merged := false
	for n := range 12 {
		must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day, l.sends(t, 2*(n%2))))
		same(t, l.read(t), l.want(t), "late row ", n)
		merged = merged || n > 0 && len(l.files(t)) == 1
	}
	if !merged {
		t.Error("small files were never put together with the day")
	}
}

// TestALateDeviceIsInASmallFileAlone and stays there, whatever comes for others, and when retention deletes its rows.
func TestALateDeviceIsInASmallFileAlone(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	l := newLate(t, 0, false)
	m := l.maker(t, nil)
	device := schema.Member{Device: "contoso:d00a", Tenant: l.day.Tenant, Month: l.day.Month, Readings: l.Readings}
	fleet := l.World.Connect(t, nil).Table(l.source.Fleet())
	must.Have(fleet.Do(t.Context(), tables.Insert(must.Have(device.Entity())(t))))(t)
	for n := range 3 {
		l.late(t, device.Device, l.day.Day.Start()+tables.Ticks(n))
		must.Succeed(t, m.MakeDay(t.Context(), l.day, device.Device))
		same(t, l.read(t), l.want(t), "row ", n)
	}
	want := l.want(t)
	device.Watermark = (l.day.Day + 1).Start()
	must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(device.Entity())(t))))(t)
	f := *l.Fleet
	f.Names = l.source
	forget(t, &f, device.Device, l.day.Day, 1)
	for n := range 6 { // they are merged among these
		other := l.sends(t, 2)
		for id, values := range l.want(t) {
			want[id] = values
		}
		must.Succeed(t, m.MakeDay(t.Context(), l.day, device.Device, other))
		same(t, l.read(t), want, "after retention, row ", n)
	}
	if told := l.told(t, m); told != "" {
		t.Error(told)
	}
	must.Succeed(t, m.MakeDay(t.Context(), l.day))
	same(t, l.read(t), want, "as a whole")
}

// TestKilledMakersOfLateRowsLeaveWholeVersions: one that puts a file beside others, and one that merges small ones.
func TestKilledMakersOfLateRowsLeaveWholeVersions(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, files := range []int{1, 4} {
		effort.Each(t, 9, func(t *testing.T, n int) (more bool) {
			l := newLate(t, files, n%2 == 1)
			before := l.want(t)
			one, two := l.sends(t, 0), l.sends(t, 2)
			want := l.want(t)
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
			err := l.maker(t, gate).MakeDay(ctx, l.day, one, two)
			kill()
			if more = int(gate.N.Load()) > n; more != (err != nil) {
				t.Fatalf("operation %d: %v", n, err)
			}
			if got := l.read(t); len(got) != len(before) {
				same(t, got, want, "killed at operation ", n)
			}
			m := l.maker(t, nil)
			must.Succeed(t, m.MakeDay(t.Context(), l.day, one, two))
			same(t, l.read(t), want, files, " files, after operation ", n)
			if told := l.told(t, m); told != "" && !strings.Contains(told, "pending") {
				t.Error(told)
			}
			return more
		})
	}
}

// TestOthersBesideAMakerOfLateRows act at each of its operations: retention, an erasure, another maker of the same
// rows, one of other late rows, and one of the whole day.
func TestOthersBesideAMakerOfLateRows(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for what, act := range map[string]func(l *lateFleet, want map[string]string){
		"retention": func(l *lateFleet, _ map[string]string) { l.retire(t, l.World.Devices[2]) },
		"retention of all": func(l *lateFleet, _ map[string]string) {
			l.retire(t, l.World.Devices[0])
			l.retire(t, l.World.Devices[2])
		},
		"erasure": func(l *lateFleet, want map[string]string) {
			l.vanish(t, l.World.Devices[2])
			must.Have(l.maker(t, nil).Erase(t.Context(), l.day.Month, l.day.Tenant, l.World.Devices[2]))(t)
			for id := range want {
				if strings.HasPrefix(id, string(l.World.Devices[2])+"/") {
					delete(want, id)
				}
			}
		},
		"the same": func(l *lateFleet, _ map[string]string) {
			must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day, l.World.Devices[0], l.World.Devices[2]))
		},
		"another": func(l *lateFleet, want map[string]string) {
			device := l.sends(t, 2)
			must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day, device))
			for id, values := range l.want(t) {
				want[id] = values
			}
		},
		"the whole": func(l *lateFleet, _ map[string]string) {
			must.Succeed(t, l.maker(t, nil).MakeDay(t.Context(), l.day))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, files := range []int{1, 4} {
				effort.Each(t, 15, func(t *testing.T, n int) (more bool) {
					l := newLate(t, files, n%2 == 1)
					before := l.want(t)
					one, two := l.sends(t, 0), l.sends(t, 2)
					want := l.want(t)
					gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
						act(l, want)
						return send()
					}}
					must.Succeed(t, l.maker(t, gate).MakeDay(t.Context(), l.day, one, two))
					got := l.newest(t)
					if strings.HasPrefix(what, "retention") { // it deletes late rows that the archive waits for in earnest
						for id := range want {
							if before[id] == "" && got[id] == "" {
								delete(want, id)
							}
						}
					}
					same(t, got, want, what, ", ", files, " files, operation ", n)
					if told := l.told(t, l.maker(t, nil)); strings.Contains(told, "twice") {
						t.Error(told)
					}
					return int(gate.N.Load()) > n
				})
			}
		})
	}
}
