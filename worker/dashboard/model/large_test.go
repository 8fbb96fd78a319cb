package model

import (
	"fmt"
	"testing"
	"time"

	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestLargeTenantIsEstimated has more devices than are read, each with ten readings today.
func TestLargeTenantIsEstimated(t *testing.T) {
	const devices = 4000
	f := modeltest.New(t, azuretest.Local(t))
	s := over(t, f)
	now := tables.TicksOf(time.Now())
	month := schema.Month{Year: 2026, Month: 10}
	var hours, days []tables.Op
	a := rollup.Aggregate{Count: 10, Sum: 50, Min: 1, Max: 9, First: 1, Last: 9}
	for i := range devices {
		id := schema.DeviceID(fmt.Sprintf("d%05d", i))
		s.Accounts.index.add(0, schema.Member{Device: id, Tenant: "contoso", Month: month})
		for _, window := range []schema.Window{schema.Hour, schema.Daily} {
			p := schema.RollupPartition{Tenant: "contoso", Window: window, Day: schema.DayOf(now), Month: month}
			row := schema.RollupRow{Device: id, Bucket: window.Start(now)}
			e := tables.Entity{PartitionKey: p.String(), RowKey: row.String()}
			e.Set("temperature", tables.String(a.String()))
			if window == schema.Hour {
				hours = append(hours, tables.Insert(e))
			} else {
				days = append(days, tables.Insert(e))
			}
		}
	}
	for _, ops := range [][]tables.Op{hours, days} {
		groups := must.Have(tables.Cut(ops))(t)
		for _, g := range groups {
			must.Have(f.Client.Table(f.Names.Output("rollups")).Submit(t.Context(), g))(t)
		}
	}
	s.Accounts.watch.ended(0, nil)
	f.Requests()
	ctx, read := Reading(t.Context())
	one, err := s.Tenants.Tenant(ctx, "contoso")
	if err != nil || !one.Estimated || one.ReadingsToday != 10*devices || read.Operations() != todayPages ||
		f.Requests() != todayPages {
		t.Errorf("%+v, %d operations, %v", one, read.Operations(), err)
	}
	ctx, read = Reading(t.Context())
	day, err := s.Charts.Day(ctx, DayQuery{Tenant: "contoso", Sensor: "temperature", Day: new(schema.DayOf(now))})
	if n := f.Requests(); err != nil || n > dayPages || n != read.Operations() || len(day.Points) != 1 ||
		*day.Points[0].Mean != 5 {
		t.Errorf("%+v, %d operations, %v; %d requests", day, read.Operations(), err, n)
	} else if day.Some || day.Devices != devices || day.Points[0].Count != 10*devices {
		t.Errorf("%d devices with %d readings, some: %v", day.Devices, day.Points[0].Count, day.Some)
	}
	for i := range 3 * dayPages { // more months than pages
		s.Accounts.index.add(0, schema.Member{Device: schema.DeviceID(fmt.Sprint("x", i)), Tenant: "contoso",
			Month: schema.Month{Year: 2000 + i/12, Month: time.Month(1 + i%12)}})
	}
	s.Charts.days = newCache[tenantDay](readTimeout)
	day, err = s.Charts.Day(t.Context(), DayQuery{Tenant: "contoso", Sensor: "temperature", Day: new(schema.DayOf(now))})
	if err != nil || !day.Some || f.Requests() > dayPages {
		t.Errorf("%+v, %v", day, err)
	}
}

func TestRangesOfALargeTenantCoverItInOrder(t *testing.T) {
	s := crowd(seeded(t), 1000)
	total := s.Accounts.index.total("t1")
	for _, n := range []int{1, 7, 40, 5000} {
		homes, missing := s.Accounts.spread("t1", n)
		if len(homes) != min(n, total) || missing != (n == 1) {
			t.Errorf("%d ranges of %d devices, want %d; months are missing: %v", len(homes), total, n, missing)
		}
		for i := 1; i < len(homes); i++ {
			a, b := homes[i-1], homes[i]
			if b.Month.Compare(a.Month) < 0 ||
				b.Month == a.Month && (b.IDs.From <= a.IDs.From || a.IDs.Before != b.IDs.From) {
				t.Errorf("%v comes after %v", b, a)
			}
		}
	}
}
