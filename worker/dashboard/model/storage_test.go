package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// over returns a store over a fleet. The test runs its polls.
func over(t *testing.T, f *modeltest.Fixture) *Store {
	t.Helper()
	client, queues := f.Readers(t, CountTable, CountQueue)
	return New(Config{Accounts: []Account{{Tables: client, Queues: queues, Names: f.Names,
		Pipelines: []Pipeline{{Name: "live", Cadence: time.Minute, Tables: []string{"latest"},
			Unit:    func(sensor string, _ ...string) string { return map[string]string{"temperature": "°C"}[sensor] },
			Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}}}}})
}

// look reads the records once, and polls.
func look(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	if s.Accounts.watch.done[0].IsZero() {
		must.Succeed(t, s.Accounts.all[0].poller.allRecords(ctx))
	}
	must.Succeed(t, s.Accounts.all[0].poller.poll(ctx))
	s.Accounts.watch.ended(0, nil)
}

// TestSensorsThatADeviceNoLongerHasAreForgotten: a configuration has renamed them, or ignores them, and its newest
// values were made again. A device of many sensors has several rows.
func TestSensorsThatADeviceNoLongerHasAreForgotten(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"}, schema.Device{ID: "pump-8"})
	s := over(t, f)
	now := time.Now().Add(-time.Minute)
	f.Send(t, "pump-7", now, map[string]any{"temp": 21.0, "hum": 60.0})
	f.Send(t, "pump-8", now, map[string]any{"temp": 20.0})
	f.Fold(t)
	look(t, s)
	latest := f.Client.Table(f.Names.Output("latest"))
	rewrite := func(row string, change func(*tables.Entity)) {
		t.Helper()
		e := must.Have(latest.Get(t.Context(), "contoso!2026-10", row))(t)
		change(&e)
		f.Write(t, latest.Name, e)
		for _, part := range s.Accounts.all[0].poller.parts {
			must.Have(s.Accounts.all[0].poller.readPart(t.Context(), part))(t)
		}
	}
	wants := func(device string, want ...string) {
		t.Helper()
		if got := s.Accounts.index.sensorsOf(device); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", device, got, want)
		}
	}
	without := func(e *tables.Entity, sensor string) (was tables.Value) {
		was = e.Get(sensor)
		e.Properties = slices.DeleteFunc(e.Properties, func(p tables.Property) bool { return p.Name == sensor })
		return was
	}
	wants("pump-7", "hum", "temp")
	second := schema.LatestRow{Device: "pump-7", Part: 2}.String()
	f.Write(t, latest.Name, tables.Entity{PartitionKey: "contoso!2026-10", RowKey: second})
	var rpm tables.Value
	rewrite("pump-7", func(e *tables.Entity) { // temp becomes temperature
		rpm = without(e, "temp")
		e.Set("temperature", rpm)
	})
	wants("pump-7", "hum", "temperature")
	rewrite(second, func(e *tables.Entity) { e.Set("rpm", rpm) })
	rewrite("pump-7", func(e *tables.Entity) { without(e, "hum") })
	wants("pump-7", "rpm", "temperature")
	must.Have(s.Devices.Device(t.Context(), "pump-7"))(t) // reads all rows together
	rewrite(second, func(e *tables.Entity) { without(e, "rpm") })
	wants("pump-7", "temperature")
	rewrite("pump-8", func(e *tables.Entity) { without(e, "temp") })
	wants("pump-8")
}

// TestHeartbeatsKeepADeviceFromSilence has a device whose last value is an hour old, and one that sends one sensor at a
// time.
func TestHeartbeatsKeepADeviceFromSilence(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	now := time.Now()
	f.Add(t, schema.Device{ID: "bottle-1", Tenant: "clinic"}, schema.Device{ID: "rig-1"},
		schema.Device{ID: "rig-2"}, schema.Device{ID: "tag-1", Tenant: "clinic"})
	f.Send(t, "tag-1", now.Add(-time.Minute), nil)
	f.Send(t, "bottle-1", now.Add(-time.Hour), map[string]any{"mass": 20.0})
	f.Send(t, "bottle-1", now.Add(-time.Minute), nil)
	for i, sensor := range []string{"rpm", "temperature", "rpm", "vibration"} {
		f.Send(t, "rig-1", now.Add(time.Duration(i)*time.Second-time.Minute), map[string]any{sensor: 1.0})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	list, err := s.Lists.Devices(t.Context(), ListQuery{})
	if err != nil || len(list.Devices) != 4 || list.Devices[0].State != OK || list.Devices[2].State != Unheard ||
		now.Sub(*list.Devices[0].Time) > 2*time.Minute {
		t.Fatalf("%+v, %v", list, err)
	}
	if d, err := s.Devices.Device(t.Context(), "bottle-1"); err != nil || d.State != OK || len(d.Latest) != 1 ||
		now.Sub(*d.Heard) > 2*time.Minute {
		t.Errorf("%+v, %v", d, err)
	}
	for _, c := range []struct {
		sensors []string
		heard   bool
		want    string
	}{{nil, true, "bottle-1 rig-1 tag-1"}, {[]string{"rpm"}, false, "rig-1"}} {
		var got []string
		for n := range s.FleetRows.newest([]string{"bottle-1", "rig-1", "rig-2", "tag-1"}, c.sensors) {
			if got = append(got, string(n.Device)); n.Last > 0 != c.heard {
				t.Errorf("sensors %v: %s was last heard at %v", c.sensors, n.Device, n.Last)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("sensors %v: newest values of %v, want %s", c.sensors, got, c.want)
		}
	}
	if d, err := s.Devices.Device(t.Context(), "rig-2"); err != nil || d.State != Unheard || d.Heard != nil {
		t.Errorf("a new device: %+v, %v", d, err)
	}
	f.Send(t, "rig-2", now.Add(-time.Minute), map[string]any{"rpm": 1.0})
	s.Devices.kept = newCache[deviceRead](readTimeout)
	if d, err := s.Devices.Device(t.Context(), "rig-2"); err != nil || d.State != OK {
		t.Errorf("a device whose first reading is not folded: %+v, %v", d, err)
	}
	if c, err := s.Tenants.Tenant(t.Context(), "contoso"); err != nil || c.ReadingsToday != 4 && now.UTC().Hour() > 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDevicesAppearWithTheirValuesAndStates makes every kind of request, also on Azurite.
func TestDevicesAppearWithTheirValuesAndStates(t *testing.T) {
	f := modeltest.New(t, azuretest.FromEnv(t))
	now := time.Now()
	for i, id := range []schema.DeviceID{"pump-7", "pump-8"} {
		f.Add(t, schema.Device{ID: id, Site: "hall", Position: &schema.Position{Lat: 48, Lon: float64(i)}})
		f.Send(t, id, now.Add(-2*time.Minute), map[string]any{"temperature": 20.0, "door": "open"})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	m := s.Maps.mapAt(MapQuery{Zoom: 8}, now)
	if m.Total != 2 || len(m.Devices) != 2 || m.Devices[0].Value != 20.0 || m.Devices[0].State != OK || m.Unit != "°C" {
		t.Fatalf("the map is %+v", m)
	}

	time.Sleep(1100 * time.Millisecond) // storage's timestamps, and the slots of runs, are in seconds
	f.Send(t, "pump-7", now.Add(-time.Minute), map[string]any{"temperature": 30.0})
	f.Add(t, schema.Device{ID: "pump-9", Month: schema.Month{Year: 2026, Month: 11},
		Position: &schema.Position{Lat: 48, Lon: 3}})
	f.Send(t, "pump-9", now.Add(-time.Minute), map[string]any{"temperature": 10.0})
	held := tables.Entity{PartitionKey: "2026-10", RowKey: "contoso!pump-8"}
	held.Set("Attempts", tables.Int64(2))
	held.Set("Held", tables.String(`row "x" is cursed`))
	held.Set("HeldUntil", tables.DateTime(tables.TicksOf(now.Add(time.Hour))))
	_, err := f.Client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(held, tables.AnyETag))
	must.Succeed(t, err)
	f.Held = 1
	f.Fold(t)
	look(t, s)
	want := map[string]string{"pump-7": "30 ok", "pump-8": "20 held", "pump-9": "10 ok"}
	for _, d := range s.Maps.mapAt(MapQuery{Zoom: 8}, now).Devices {
		if got := fmt.Sprint(d.Value, " ", d.State); got != want[d.Device] {
			t.Errorf("%s is %s, want %s", d.Device, got, want[d.Device])
		}
		delete(want, d.Device)
	}
	if len(want) > 0 {
		t.Errorf("the map does not have %v", want)
	}
	mustShowPump8(t, s)
}

func mustShowPump8(t *testing.T, s *Store) {
	t.Helper()
	a, err := s.Devices.Device(t.Context(), "pump-8")
	if err != nil || a.State != Held || len(a.Latest) != 2 || a.Latest[1].Value != 20.0 || a.Latest[0].Value != "open" ||
		len(a.Pipelines) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	p := a.Pipelines[0]
	if p.Rows != 1 || p.Held == nil || p.Held.Attempts != 2 || p.LagSeconds == nil || *p.LagSeconds != 0 ||
		p.CheckpointTime == nil || !*a.Device.InFleet {
		t.Errorf("its pipeline says %+v of %+v", p, a.Device)
	}
	all, err := s.Pipelines.All(t.Context())
	if err != nil || len(all.Pipelines) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	live := all.Pipelines[0]
	if len(live.Runs) != 2 || len(live.Workers) != 1 || live.LagSeconds == nil || live.CostPerMonth == nil ||
		len(live.Causes) != 1 || live.Causes[0].Reason != "row … is cursed" {
		t.Errorf("the pipeline is %+v", live)
	}
}

func TestLagIsTheAgeOfTheOldestUnfoldedReading(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	f.Send(t, "pump-7", time.Now().Add(-time.Hour), map[string]any{"temperature": 1.0})
	f.Fold(t)
	f.Send(t, "pump-7", time.Now().Add(-5*time.Minute), map[string]any{"temperature": 2.0})
	ctx, read := Reading(t.Context())
	a, err := over(t, f).Devices.Device(ctx, "pump-7")
	if err != nil || a.Pipelines[0].LagSeconds == nil || math.Abs(*a.Pipelines[0].LagSeconds-300) > 30 {
		t.Errorf("%+v, %v", a.Pipelines, err)
	}
	if read.Operations() != f.Requests() {
		t.Errorf("it says %d operations, which is wrong", read.Operations())
	}
}

func TestNewestRejectsComeFirstWithTheirValues(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	now := time.Now()
	var ops []tables.Op
	for n := int64(2400); n < 2500; n++ {
		e, err := schema.Reject{Device: "pump-7", Pipeline: "live", Number: n,
			Row:    tables.TicksOf(now.Add(time.Duration(n-2500) * time.Minute)).String(),
			Sensor: "humidity", Reason: fmt.Sprint("humidity: reason ", n), Value: strings.Repeat("x", 500),
			At: tables.TicksOf(now)}.Entity()
		must.Succeed(t, err)
		ops = append(ops, tables.Insert(e))
	}
	must.Have(f.Client.Table(f.Names.Rejects()).Submit(t.Context(), ops))(t)
	ctx, read := Reading(t.Context())
	a, err := over(t, f).Devices.Device(ctx, "pump-7")
	if err != nil || len(a.Rejects) != maxRejects || a.Rejects[0].Reason != "humidity: reason 2499" ||
		a.Rejects[29].Reason != "humidity: reason 2470" {
		t.Errorf("%+v, %v", a.Rejects, err)
	}
	if r := a.Rejects[0]; r.Number != 2500 || r.Sensor != "humidity" || !strings.HasPrefix(r.Value, "xxx") ||
		len(r.Value) > 310 {
		t.Errorf("%+v", r)
	}
	if read.Operations() > 6 {
		t.Errorf("it takes %d operations", read.Operations())
	}
}

func TestSeriesHasAllReadingsInEveryWindow(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	to := time.Now().UTC().Truncate(time.Minute)
	from := to.Add(-30 * time.Hour)
	sum, n := 0.0, int64(0)
	for at := from; at.Before(to.Add(-time.Minute)); at = at.Add(7 * time.Minute) {
		v := float64(n % 50)
		f.Send(t, "pump-7", at, map[string]any{"temperature": v})
		sum, n = sum+v, n+1
	}
	f.Fold(t)
	s := over(t, f)
	for _, window := range []string{"raw", "1m", "1h", "1d", "auto"} {
		got, err := s.Charts.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: "temperature", From: from, To: to,
			Window: window})
		if err != nil {
			t.Fatalf("%s: %v", window, err)
		}
		count, total := int64(0), 0.0
		for i, p := range got.Points {
			if i > 0 && !p.Time.After(got.Points[i-1].Time) {
				t.Errorf("%s: %v comes after %v", window, p.Time, got.Points[i-1].Time)
			}
			if p.Value != nil {
				count, total = count+1, total+*p.Value
			} else {
				count, total = count+p.Count, total+*p.Mean*float64(p.Count)
			}
		}
		if count != n || math.Abs(total-sum) > 1e-6 || got.Unit != "°C" || window != "auto" && got.Window != window {
			t.Errorf("%s: %d readings of %v in windows of %s, want %d of %v", window, count, total, got.Window, n, sum)
		}
	}
	for _, ask := range []SeriesQuery{{Window: "1m", From: to.Add(-72 * time.Hour), To: to},
		{Window: "7m", From: from, To: to}, {From: to, To: from}} {
		ask.Device, ask.Sensor = "pump-7", "temperature"
		_, err := s.Charts.Series(t.Context(), ask)
		if _, wrong := errors.AsType[*QueryError](err); !wrong {
			t.Errorf("%+v: %v", ask, err)
		}
	}
	all, err := s.Charts.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: "temperature",
		From: to.AddDate(-1000, 0, 0), To: to.AddDate(1000, 0, 0)})
	count := int64(0)
	for _, p := range all.Points {
		count += p.Count
	}
	if err != nil || count != n || all.From.Before(from.AddDate(0, 0, -1)) || all.To.After(to.AddDate(0, 0, 2)) {
		t.Errorf("all of time has %d readings from %v to %v, want %d: %v", count, all.From, all.To, n, err)
	}
}

func TestTenantsDayIsTheSumOfItsDevices(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 30)
	s := over(t, f)
	look(t, s)
	day := schema.DayOf(tables.TicksOf(time.Now().Add(-time.Minute)))
	got, err := s.Charts.Day(t.Context(), DayQuery{Tenant: "contoso", Sensor: "temperature", Day: &day})
	if err != nil || len(got.Points) == 0 || got.Some || got.Devices != 15 {
		t.Fatalf("%+v, %v", got, err)
	}
	count := int64(0)
	for _, p := range got.Points {
		if count += p.Count; p.Devices != 15 || *p.Min > *p.Mean || *p.Max < *p.Mean {
			t.Errorf("%+v", p)
		}
	}
	one, err := s.Tenants.Tenant(t.Context(), "contoso")
	if err != nil || one.ReadingsToday != count || one.Estimated || one.Devices != 15 {
		t.Errorf("%+v, %v; its day has %d readings", one, err, count)
	}
	if _, err := s.Charts.Day(t.Context(), DayQuery{Tenant: "nobody", Day: &day}); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown tenant: %v", err)
	}
	first, err := s.Tenants.List(t.Context(), "", 1)
	second, err2 := s.Tenants.List(t.Context(), first.Next, 1)
	if errors.Join(err, err2) != nil || first.Next != "contoso" || second.Next != "" ||
		second.Tenants[0].Tenant != "fabrikam" || second.Total != 2 {
		t.Errorf("%+v, then %+v, %v", first, second, err)
	}
}

func TestMapFailsWhenNothingWasEverRead(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	s.Accounts.watch.ended(0, errors.New("away"))
	if _, err := s.Maps.Map(t.Context(), MapQuery{}); err == nil {
		t.Error("there is a map although nothing was ever read")
	}
}

func TestUnusedDashboardReadsNothing(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 3)
	client, queues := f.Readers(t, CountTable, CountQueue)
	s := New(Config{Interval: time.Millisecond, Accounts: []Account{{Tables: client, Queues: queues, Names: f.Names,
		Pipelines: []Pipeline{{Name: "live", Cadence: time.Minute, Tables: []string{"latest"}}}}}})
	f.Requests()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	time.Sleep(20 * time.Millisecond)
	if n := f.Requests(); n != 0 {
		t.Errorf("%d requests of an unused dashboard", n)
	}
	if m, err := s.Maps.Map(t.Context(), MapQuery{}); err != nil || f.Requests() == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
