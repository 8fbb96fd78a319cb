package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// TestUnreadableRowsAreListedAndHideNothing damages rows as a newer program might write them.
func TestUnreadableRowsAreListedAndHideNothing(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	to := time.Now()
	for _, id := range []schema.DeviceID{"pump-7", "pump-8"} {
		f.Add(t, schema.Device{ID: id})
		f.Send(t, id, to.Add(-2*time.Hour), map[string]any{"temperature": 20.0, "humidity": 50.0})
		f.Send(t, id, to.Add(-time.Minute), map[string]any{"temperature": 21.0, "humidity": 51.0})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	damage := func(table string, in tables.Range, name string, v tables.Value) {
		t.Helper()
		n := 0
		for page, err := range f.Client.Table(table).Rows(t.Context(), tables.Query{Range: in}) {
			must.Succeed(t, err)
			for _, e := range page.Rows {
				if n == 0 && strings.Contains(e.PartitionKey+" "+e.RowKey, "pump-7") {
					e.Set(name, v)
					f.Write(t, table, e)
					n++
				}
			}
		}
		if n == 0 {
			t.Fatalf("%s has no row to damage", table)
		}
	}
	strange := tables.String("{from: the future}")
	damage(f.Names.Output("latest"), tables.Range{}, "humidity", strange)
	hours := schema.RollupPartition{Tenant: "contoso", Window: schema.Hour,
		Day: schema.DayOf(tables.TicksOf(to.Add(-2 * time.Hour))), Month: f.Devices[0].Month}
	damage(f.Names.Output("rollups"), tables.Partition(hours.String()), "humidity", strange)
	damage(f.Names.Partitions("live"), tables.Range{}, schema.TrackRows, strange)
	damage(f.Names.Devices(), tables.Range{}, "Labels", strange)
	f.Write(t, f.Names.Rejects(), tables.Entity{PartitionKey: "pump-7", RowKey: "of another kind"})

	a, err := s.Devices.Device(t.Context(), "pump-7")
	if err != nil || len(a.Latest) != 1 || a.Latest[0].Sensor != "temperature" || len(a.Pipelines) != 1 ||
		a.Device.Tenant != "contoso" {
		t.Fatalf("%+v, %v", a, err)
	}
	found := map[string]bool{}
	for _, u := range a.Unreadable {
		if found[u.Table] = true; u.Row == "" || u.Reason == "" {
			t.Errorf("%+v does not say what is wrong", u)
		}
	}
	for _, table := range []string{f.Names.Output("latest"), f.Names.Partitions("live"), f.Names.Devices(),
		f.Names.Rejects()} {
		if !found[table] {
			t.Errorf("the row of %s is not listed in %+v", table, a.Unreadable)
		}
	}
	series, err := s.Charts.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: "humidity",
		From: to.Add(-6 * time.Hour),
		To:   to, Window: "1h"})
	if err != nil || series.Unreadable != 1 || len(series.Points) != 1 {
		t.Errorf("its series is %+v, %v", series, err)
	}
	day, err := s.Charts.Day(t.Context(), DayQuery{Tenant: "contoso", Sensor: "humidity", Day: &hours.Day})
	if err != nil || day.Unreadable != 1 || len(day.Points) == 0 {
		t.Errorf("the tenant's day is %+v, %v", day, err)
	}
	if other, err := s.Devices.Device(t.Context(), "pump-8"); err != nil || len(other.Latest) != 2 ||
		len(other.Unreadable) > 0 {
		t.Errorf("its neighbour is %+v, %v", other, err)
	}
}

// TestDeviceHasAllOfManySensors has outputs of several entities.
func TestDeviceHasAllOfManySensors(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"}, schema.Device{ID: "pump-8"})
	const sensors = 450
	var all []string
	for i := range sensors {
		all = append(all, fmt.Sprintf(`"s%d":%d`, i, i))
	}
	to := time.Now()
	for n := range 3 {
		f.Send(t, "pump-7", to.Add(-time.Duration(n+1)*time.Minute), map[string]any{"v": "{" + strings.Join(all, ",") + "}"})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	a, err := s.Devices.Device(t.Context(), "pump-7")
	if err != nil || len(a.Latest) != sensors {
		t.Fatalf("%d newest values, %v", len(a.Latest), err)
	}
	for _, sensor := range []string{"v_s0", "v_s449"} {
		got, err := s.Charts.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: sensor,
			From: to.Add(-time.Hour), To: to,
			Window: "1m"})
		if err != nil || len(got.Points) != 3 {
			t.Errorf("%s: %+v, %v", sensor, got, err)
		}
	}
	one, err := s.Tenants.Tenant(t.Context(), string(f.Devices[0].Tenant))
	if err != nil || one.ReadingsToday > 3 {
		t.Errorf("%+v, %v", one, err)
	}
}

// TestReadingsGoOnBehindRowsThatAreNone: devices choose their row keys, so that a row need not be a reading.
func TestReadingsGoOnBehindRowsThatAreNone(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	at := time.Now().Add(-time.Hour)
	for n := range 6 {
		row := tables.TicksOf(at.Add(time.Duration(n) * time.Minute)).String()
		if n%2 == 0 {
			row += "-no suffix"
		}
		e := tables.Entity{PartitionKey: "pump-7", RowKey: row}
		e.Set("temperature", tables.Double(21))
		f.Write(t, f.Names.Readings(), e)
	}
	s := over(t, f)
	look(t, s)
	for limit := 1; limit < 5; limit++ {
		q := ReadingsQuery{Device: "pump-7", From: at, To: time.Now(), Part: Part{Limit: limit}}
		rows, unreadable := 0, int64(0)
		for parts := 0; (parts == 0 || q.After != "") && parts < 9; parts++ {
			answer := must.Have(s.DeviceRows.Readings(t.Context(), q))(t)
			for _, err := range answer.Rows {
				must.Succeed(t, err)
				rows++
			}
			out := answer.Answer.Reach()
			q.After, unreadable = out.Next, unreadable+out.Unreadable
		}
		if rows != 3 || unreadable != 3 {
			t.Errorf("%d at a time: %d readings and %d other rows, want 3 of each", limit, rows, unreadable)
		}
	}
}

// TestUnreadableIncidentsAreCounted in the list of those in storage.
func TestUnreadableIncidentsAreCounted(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	s := over(t, f)
	look(t, s)
	home := schema.LatestPartition{Tenant: "contoso", Month: f.Devices[0].Month}
	f.Write(t, f.Names.Output(rules.Table), tables.Entity{PartitionKey: home.String(),
		RowKey: tables.TicksOf(time.Now()).String() + "-of another kind"})
	q := IncidentQuery{States: []string{query.IncidentClosed}, Part: Part{Limit: 1}}
	if list := must.Have(s.Incidents.ListPart(t.Context(), q))(t); list.Unreadable != 1 || len(list.Rows) > 0 {
		t.Errorf("an incident cannot be read, and the list says %+v", list)
	}
}
