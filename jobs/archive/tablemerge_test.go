package archive_test

import (
	"bytes"
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

	"github.com/go-json-experiment/json"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A mergeFleet has a tenant with devices in several partitions of the fleet, one in each beside those of the first.
type mergeFleet struct {
	*tablesFleet
	parts  []archive.TableDay
	summed bool // there are rollups and reports
	n      int  // of late rows
}

// newMerge has the day of each partition made.
func newMerge(t testing.TB, partitions int, summed bool) *mergeFleet {
	t.Helper()
	x := &mergeFleet{tablesFleet: newTables(t), summed: summed}
	for n := range partitions {
		of := x.day
		if n > 0 {
			of.Month = x.member(n).Month
			x.joins(t, n)
		}
		x.parts = append(x.parts, of)
	}
	for _, of := range x.parts {
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
	}
	return x
}

// joins adds the device of another partition, with a row in each of five hours.
func (x *mergeFleet) joins(t testing.TB, n int) {
	t.Helper()
	m := x.member(n)
	must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(),
		tables.Insert(must.Have(m.Entity())(t))))(t)
	var rows []tables.Entity
	for at := range 5 {
		e := tables.Entity{PartitionKey: string(m.Device), RowKey: x.day.Day.Start().Add(time.Duration(at) * time.Hour).
			String()}
		e.Set("temperature", tables.Double(float64(at+n)))
		rows = append(rows, e)
	}
	jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), rows...)
}

// member returns the device of another partition. In the order of devices, it comes between those of the first.
func (x *mergeFleet) member(n int) schema.Member {
	return schema.Member{Month: schema.Month{Year: 2020 + n/12, Month: time.Month(1 + n%12)}, Tenant: x.day.Tenant,
		Device: x.World.Devices[0] + schema.DeviceID(fmt.Sprintf("-%02d", n)), Readings: x.Readings}
}

func (x *mergeFleet) maker(t testing.TB, through policy.Transporter) *archive.Tables {
	m := x.tablesFleet.maker(t, through)
	if !x.summed {
		m.Summed = archive.Summed{}
	}
	return m
}

// merge has small files become one as long as there are enough.
func (x *mergeFleet) merge(t testing.TB) {
	t.Helper()
	for must.Have(x.maker(t, nil).Merge(t.Context(), x.day.Tenant, x.day.Day))(t) {
	}
}

// sends has the device of a partition send a late row.
func (x *mergeFleet) sends(t testing.TB, n int) schema.DeviceID {
	t.Helper()
	device := x.World.Devices[0]
	if n > 0 {
		device = x.member(n).Device
	}
	x.n++
	x.late(t, device, x.day.Day.Start()+tables.Ticks(x.n))
	return device
}

// good reports what readers see, and what verifying tells of the tables and of each partition's day.
func (x *mergeFleet) good(t testing.TB, about ...any) {
	t.Helper()
	m := x.maker(t, nil)
	same(t, x.read(t), x.want(t), about...)
	for _, of := range x.parts {
		for _, problem := range must.Have(m.VerifyDay(t.Context(), of))(t) {
			t.Error(append(about, problem)...)
		}
	}
	for _, table := range must.Have(m.Catalog.Tables(t.Context(), x.day.Tenant))(t) {
		for _, problem := range must.Have(table.Verify(t.Context(), nil))(t) {
			t.Error(append(about, problem)...)
		}
	}
}

// files returns how many files each table has.
func (x *mergeFleet) files(t testing.TB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, table := range must.Have(x.maker(t, nil).Catalog.Tables(t.Context(), x.day.Tenant))(t) {
		all[table.Name] = len(must.Have(collected(table.AllFiles(t.Context())))(t))
	}
	return all
}

// newestVersion returns what the log says of the newest version of readings.
func (x *mergeFleet) newestVersion(t testing.TB) (v delta.Version) {
	t.Helper()
	all, root := objects(t, x.World.Account, x.Names.Archive()), delta.Folder(string(x.day.Tenant))+"/readings/"
	n := int64(0)
	for all[root+delta.VersionFile(n+1)] != nil {
		n++
	}
	for line := range bytes.Lines(all[root+delta.VersionFile(n)]) {
		var a struct {
			Info   *delta.Info   `json:"commitInfo"`
			Remove *delta.Remove `json:"remove"`
			Add    *delta.Add    `json:"add"`
		}
		must.Succeed(t, json.Unmarshal(line, &a))
		switch {
		case a.Info != nil:
			v.Info = *a.Info
		case a.Remove != nil:
			v.Removed = append(v.Removed, *a.Remove)
		case a.Add != nil:
			v.Added = append(v.Added, *a.Add)
		}
	}
	return v
}

// TestSmallFilesOfPartitionsBecomeOne: of readings, rollups and reports. Whoever follows the table of readings reads
// no row again, and what is made afterwards of one partition leaves the others as they are.
func TestSmallFilesOfPartitionsBecomeOne(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 30, summed)
		x.good(t, "before")
		if files := x.files(t); files["readings"] != 30 || summed && files["reports-1h"] != 30 {
			t.Fatalf("files before: %v", files)
		}
		must.Have(x.maker(t, nil).Merge(t.Context(), x.day.Tenant, x.day.Day))(t)
		for table, n := range x.files(t) {
			if n != 7 { // 24 become one at a time
				t.Errorf("at first, table %s has %d files", table, n)
			}
		}
		x.merge(t)
		x.good(t, "merged")
		for table, n := range x.files(t) {
			if n != 2 { // one of 24 partitions, and one of the others
				t.Errorf("table %s has %d files", table, n)
			}
		}
		v := x.newestVersion(t)
		if v.Info.Operation != "OPTIMIZE" || v.Added[0].DataChange || v.Removed[0].DataChange ||
			!strings.HasSuffix(v.Info.Params["why"], "small files become 1") {
			t.Errorf("the version says %+v", v)
		}
		for n, of := range x.parts[:3] {
			late := x.sends(t, n)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of, late))
			x.good(t, "late row of partition ", n)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
			x.good(t, "made again, partition ", n)
		}
		for n := range 2 {
			x.sends(t, n)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[n]))
		}
		x.good(t, "made again with late rows")
		if x.read(t); len(must.Have(collected(x.maker(t, nil).Readings(x.day.Tenant).Days(t.Context())))(t)) != 30 {
			t.Error("not all partitions have their day")
		}
	}
}

// TestAMarkHasSmallFilesBecomeOne, two hours after it was left by the fourth partition, or a day where there are
// rollups and reports. That of the fifth finds nothing.
func TestAMarkHasSmallFilesBecomeOne(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for summed, after := range map[bool]tables.Ticks{false: 2 * tables.Hour, true: tables.Day} {
		x := newMerge(t, 5, summed)
		m := x.maker(t, nil)
		var marks []schema.Mark
		for _, of := range x.parts {
			for _, mark := range must.Have(collected(m.Source.Marks(t.Context(), of.Month, schema.ArchiveMark)))(t) {
				if strings.HasPrefix(mark.Name, "merge-") {
					marks = append(marks, mark)
				}
			}
		}
		if len(marks) != 2 || marks[0].Month != x.parts[3].Month || marks[1].Month != x.parts[4].Month ||
			marks[0].Name != "merge-"+x.day.Day.String() {
			t.Fatalf("marks %+v", marks)
		}
		for n := range marks {
			marks[n].Read = marks[n].At + after - 1
			if err := m.Make(t.Context(), marks[n:n+1]); !errors.Is(err, groups.ErrNotYet) {
				t.Error(err)
			}
			marks[n].Read++
			must.Succeed(t, m.Make(t.Context(), marks[n:n+1]))
		}
		if files := x.files(t); files["readings"] != 1 {
			t.Errorf("files %v", files)
		}
		x.good(t)
	}
}

// TestKilledMergesLeaveWholeVersions at every operation.
func TestKilledMergesLeaveWholeVersions(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 5, summed)
		for n, more := 0, true; more; n += effort.Step(11) {
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
			_, err := x.maker(t, gate).Merge(ctx, x.day.Tenant, x.day.Day)
			kill()
			if more = int(gate.N.Load()) > n; more != (err != nil) {
				t.Fatalf("operation %d: %v", n, err)
			}
			x.good(t, "killed at operation ", n)
			x.merge(t)
			x.good(t, "after operation ", n)
			x.again(t)
			for _, of := range x.parts {
				must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), of))
			}
		}
	}
}

// mergeActs are what is done beside a merge, or has a merge beside it.
func mergeActs() map[string]func(x *mergeFleet, t *testing.T, through policy.Transporter) {
	return map[string]func(x *mergeFleet, t *testing.T, through policy.Transporter){
		"merge": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			must.Have(x.maker(t, through).Merge(t.Context(), x.day.Tenant, x.day.Day))(t)
		},
		"late row": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			late := x.sends(t, 2)
			must.Succeed(t, x.maker(t, through).MakeDay(t.Context(), x.parts[2], late))
		},
		"whole day": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			x.sends(t, 3)
			must.Succeed(t, x.maker(t, through).MakeDay(t.Context(), x.parts[3]))
		},
		"retention": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			must.Succeed(t, x.maker(t, through).MakeDay(t.Context(), x.parts[1]))
			x.retireMember(t, 1)
		},
		"erasure": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			x.vanishMember(t, 1)
			m := x.member(1)
			must.Have(x.maker(t, through).Erase(t.Context(), m.Month, m.Tenant, m.Device))(t)
			x.nowhere(t, string(m.Device))
		},
		"cleaning": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			must.Have(x.maker(t, faults.Later(25*time.Hour)).Clean(t.Context(), x.day.Tenant))(t)
		},
	}
}

// retireMember does what retention does with a device's rows of the day.
func (x *mergeFleet) retireMember(t testing.TB, n int) {
	t.Helper()
	m := x.member(n)
	m.Watermark = (x.day.Day + 1).Start()
	c := x.World.Connect(t, nil)
	must.Have(c.Table(x.source.Fleet()).Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	x.dropRows(t, m.Device)
}

func (x *mergeFleet) dropRows(t testing.TB, device schema.DeviceID) {
	t.Helper()
	readings := x.World.Connect(t, nil).Table(x.Readings)
	for _, e := range jobstest.Rows(t, readings, tables.Query{Range: tables.Partition(string(device))}) {
		must.Have(readings.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
	}
}

// vanishMember removes a device and all its readings.
func (x *mergeFleet) vanishMember(t testing.TB, n int) {
	t.Helper()
	m := x.member(n)
	gone := tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)
	must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(), gone))(t)
	x.dropRows(t, m.Device)
}

// TestMergesBesideOthers: at each operation of one, the other is done. Then, every reading is there once that should
// be, whoever was first, and another merge leaves few files.
func TestMergesBesideOthers(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	acts := mergeActs()
	for what, act := range acts {
		for _, summed := range []bool{false, true} {
			t.Run(fmt.Sprint("merge beside ", what, ", summed ", summed), func(t *testing.T) {
				t.Parallel()
				t.Log(besides(t, summed, acts["merge"], act), "operations")
			})
			if what == "merge" || what == "cleaning" {
				continue
			}
			t.Run(fmt.Sprint(what, " beside a merge, summed ", summed), func(t *testing.T) {
				t.Parallel()
				t.Log(besides(t, summed, act, acts["merge"]), "operations")
			})
		}
	}
}

// besides does one, and the other at each of its operations, and returns how many these were.
func besides(t *testing.T, summed bool, one, other func(*mergeFleet, *testing.T, policy.Transporter)) (n int) {
	t.Helper()
	effort.Each(t, 37, func(t *testing.T, at int) bool {
		n = at
		return besideAt(t, n, summed, one, other)
	})
	return n
}

// besideAt does one, and the other at an operation of it, and reports whether there was such a one.
func besideAt(t *testing.T, n int, summed bool, one, other func(*mergeFleet, *testing.T, policy.Transporter)) bool {
	t.Helper()
	return newMerge(t, 5, summed).besideAt(t, n, one, other)
}

func (x *mergeFleet) besideAt(t *testing.T, n int, one, other func(*mergeFleet, *testing.T, policy.Transporter)) bool {
	t.Helper()
	want := x.want(t)
	gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		other(x, t, nil)
		return send()
	}}
	one(x, t, gate)
	maps.Copy(want, x.want(t))
	fleet := x.World.Connect(t, nil).Table(x.source.Fleet())
	if _, err := fleet.Get(t.Context(), x.parts[1].Month.String(), string(x.member(1).Key())); err != nil { // erased
		maps.DeleteFunc(want, func(id, _ string) bool { return strings.HasPrefix(id, string(x.member(1).Device)+"/") })
	}
	m := x.maker(t, nil)
	for _, of := range append(x.parts[2:3:3], x.parts[5:]...) { // what came while its maker was away
		must.Succeed(t, m.MakeDay(t.Context(), of))
	}
	same(t, x.newest(t), want, "operation ", n)
	x.merge(t)
	same(t, x.newest(t), want, "merged after operation ", n)
	for _, table := range must.Have(m.Catalog.Tables(t.Context(), x.day.Tenant))(t) {
		for _, problem := range must.Have(table.Verify(t.Context(), m.Store))(t) {
			t.Error(n, problem)
		}
	}
	for _, of := range x.parts {
		for _, problem := range must.Have(m.VerifyDay(t.Context(), of))(t) {
			t.Error(n, problem)
		}
	}
	return int(gate.N.Load()) > n
}
