package archive_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestTablesKeepDevicesThatLeftTheFleetWithTheirData: a day made again, for late rows of others, for other columns, for
// the erasure of another device, and one that was never made has the readings of devices that were removed, also those
// that retention has deleted, and each tenant its part of one that had moved. So has one that is made of hours.
func TestTablesKeepDevicesThatLeftTheFleetWithTheirData(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, hourly := range []bool{false, true} {
		x := newTables(t)
		m, client := x.maker(t, nil), x.World.Connect(t, nil)
		m.FileBytes = 1
		f := *x.Fleet
		f.Names = x.source
		of := func(n int) schema.Member { return x.World.Member(x.World.Devices[n], x.Readings) }
		first, moved, erased, other := of(0), of(1), of(2), of(4)
		noon := x.day.Day.Start().Add(12 * time.Hour)
		next := moved
		moved.Spans, moved.Next, next.Tenant, next.Spans = schema.Spans{{To: noon}}, "t1", "t1", schema.Spans{{From: noon}}
		track := tables.Entity{PartitionKey: next.Month.String(), RowKey: string(next.Key())}
		track.Set(schema.TrackCheckpoint, tables.String(tables.TicksOf(time.Now()).String()))
		must.Have(client.Table(x.source.Partitions("live")).Do(t.Context(), tables.Insert(track)))(t)
		want := map[string]string{}
		add := func() {
			for id, values := range expected(t, x.Fleet, func(d schema.Day) bool { return d == x.day.Day }) {
				device, key, _ := strings.Cut(id, "/")
				if device == string(moved.Device) && key >= noon.String() {
					values = "tenant=t1" + values[len("tenant=t0"):]
				}
				want[id] = values
			}
		}
		add()
		both := func() []archive.TableDay {
			t1 := x.day
			t1.Tenant = "t1"
			return []archive.TableDay{x.day, t1}
		}()
		has := func() map[string]string {
			all := map[string]string{}
			for _, day := range both {
				y := *x
				y.day = day
				for id, values := range y.newest(t) {
					if all[id] != "" {
						t.Errorf("%s is there twice", id)
					}
					all[id] = values
				}
			}
			return all
		}
		check := func(what string) {
			t.Helper()
			for _, day := range both {
				must.Succeed(t, m.MakeDay(t.Context(), day))
				for _, wrong := range must.Have(m.VerifyDay(t.Context(), day))(t) {
					t.Error(what, day, wrong)
				}
			}
			same(t, has(), want, what, ", hourly: ", hourly)
		}
		leave(t, &f, first)
		leave(t, &f, moved, next)
		if hourly {
			for _, day := range both {
				makeHours(t, m, day)
			}
			same(t, has(), want, "hours")
			first.Watermark = (x.day.Day + 1).Start()
			leave(t, &f, first)
			forget(t, &f, first.Device, x.day.Day, 1)
		}
		check("a first time")
		if !hourly {
			first.Watermark = (x.day.Day + 1).Start() // as a removal keeps it
			leave(t, &f, first)
			forget(t, &f, first.Device, x.day.Day, 1)
		}
		x.late(t, other.Device, x.day.Day.Start()+1)
		add()
		check("with a late row")
		m.About = nil
		check("without a column")

		x.vanish(t, erased.Device)
		maps.DeleteFunc(want, func(id, _ string) bool { return strings.HasPrefix(id, string(erased.Device)+"/") })
		must.Have(m.Erase(t.Context(), erased.Month, erased.Tenant, erased.Device))(t)
		same(t, has(), want, "after another was erased")
		check("after all")
	}
}

// removed has the first device leave the fleet with its data kept, and retention delete its rows of the day.
func (x *tablesFleet) removed(t *testing.T) schema.Member {
	t.Helper()
	f := *x.Fleet
	f.Names = x.source
	left := x.World.Member(x.World.Devices[0], x.Readings)
	left.Watermark = (x.day.Day + 1).Start()
	leave(t, &f, left)
	forget(t, &f, left.Device, x.day.Day, 1)
	return left
}

// TestADeviceThatRegistersAgainKeepsItsReadings: it was removed, and retention had deleted its rows. Its record says
// that it is back, and its membership is not there yet.
func TestADeviceThatRegistersAgainKeepsItsReadings(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	want, m := x.want(t), x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	left := x.removed(t)
	back := tables.Entity{PartitionKey: string(left.Device), RowKey: schema.DeviceRow}
	back.Set("Status", tables.String(string(schema.Active)))
	must.Have(x.World.Connect(t, nil).Table(x.source.Devices()).Do(t.Context(), tables.Merge(back, tables.AnyETag)))(t)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want)
}

// TestDevicesThatLeftStayInTheTablesOfAnotherPipeline: the archive comes to a pipeline that has never folded a device
// which was removed, and whose readings retention has deleted.
func TestDevicesThatLeftStayInTheTablesOfAnotherPipeline(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	want := x.want(t)
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
	x.removed(t)
	m := x.maker(t, nil)
	m.Source.Pipeline = "later"
	x.World.Create(t, x.source.Partitions("later"))
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want)
	for _, wrong := range must.Have(m.VerifyDay(t.Context(), x.day))(t) {
		t.Error(wrong)
	}
}

// TestADeviceWhoseMembershipCannotBeReadKeepsItsReadings, as that of a later release, though retention has deleted its
// rows. Before it is in the table, it is left out.
func TestADeviceWhoseMembershipCannotBeReadKeepsItsReadings(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	want := x.want(t)
	m := x.maker(t, nil)
	device := x.World.Devices[0]
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	x.retire(t, device)
	strange := must.Have(x.World.Member(device, x.Readings).Entity())(t)
	strange.Set("Labels", tables.String("{"))
	must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(), tables.InsertOrReplace(strange)))(t)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want)
	x.again(t)
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
	same(t, x.read(t), x.want(t))
}

// TestRetentionAmidAMakerLosesNoReading: it raises the watermark of a device and deletes its rows at any operation of
// somebody who makes an hour again, or the day of its hours' files, which then begins again with what these have.
func TestRetentionAmidAMakerLosesNoReading(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, what := range []string{"hour", "day", "day of several files"} {
		effort.Each(t, 13, func(t *testing.T, n int) (more bool) {
			x := newTables(t)
			want := x.want(t)
			calm := x.maker(t, nil)
			of := x.day
			if what == "day of several files" {
				calm.FileBytes = 1
				must.Succeed(t, calm.MakeDay(t.Context(), x.day))
			} else {
				makeHours(t, calm, x.day)
			}
			if what == "hour" {
				for of.Hour = 1; len(x.wantHour(t, of)) == 0; of.Hour++ {
				}
			}
			device := x.World.Devices[1]
			gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				x.retire(t, device)
				return send()
			}}
			m := x.maker(t, gate)
			m.FileBytes = calm.FileBytes
			must.Succeed(t, m.MakeDay(t.Context(), of))
			same(t, x.read(t), want, fmt.Sprintf("%s, retention at operation %d", what, n))
			if more = int(gate.N.Load()) > n; !more {
				t.Logf("%s: %d operations", what, n)
			}
			return more
		})
	}
}
