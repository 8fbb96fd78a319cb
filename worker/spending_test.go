package worker

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestEachRunIsCountedOnceOnTheDayOfItsSlot has two schedulers count the runs around the end of a month, several times.
func TestEachRunIsCountedOnceOnTheDayOfItsSlot(t *testing.T) {
	t.Parallel()
	a := azuretest.Local(t)
	f := newFixture(t, a, names(t), nil).create(t)
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for minutes := -120; minutes < 60; minutes += 10 {
		e := must.Have(schema.WorkerFigures{Pipeline: "live", Slot: tables.TicksOf(midnight.Add(time.Duration(minutes) *
			time.Minute)), Worker: "w", Rows: 3, Operations: map[string]int64{"tables query": 5}}.Entity())(t)
		must.Have(f.runs.Table.Do(t.Context(), tables.Insert(e)))(t)
	}
	for now := midnight.Add(-time.Hour); now.Before(midnight.Add(4 * time.Hour)); now = now.Add(23 * time.Minute) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				err := f.runs.CountSpent(context.WithoutCancel(t.Context()), "live", 10*time.Minute, now)
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	day := schema.DayOf(tables.TicksOf(midnight))
	var got []string
	for _, s := range must.Have(f.runs.SpentDays(t.Context(), "live", day-40, day))(t) {
		got = append(got, fmt.Sprint(s.Day, s.Rows, s.Operations, s.From.Time().Format(" 15:04")))
	}
	want := []string{"2026-11-30 36 map[tables query:60] 22:00", "2026-12-01 18 map[tables query:30] 00:00"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counted are %q, want %q", got, want)
	}
	for month, rows := range map[time.Month]int64{time.November: 36, time.December: 18} {
		s := must.Have(f.runs.Spent(t.Context(), "live", time.Date(2026, month, 30, 12, 0, 0, 0, time.UTC)))(t)
		if s.Rows != rows || s.MonthEnd().Month() != month+1 && month < 12 {
			t.Errorf("%s: %+v, want %d rows", month, s, rows)
		}
	}
}

// TestAClockAheadLosesNoRun: a scheduler whose clock was ahead has counted the runs that there were. Those after them
// are counted when it is right again.
func TestAClockAheadLosesNoRun(t *testing.T) {
	t.Parallel()
	a := azuretest.Local(t)
	f := newFixture(t, a, names(t), nil).create(t)
	morning := time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	counted := func(hours int, now time.Time) int64 {
		slots := []time.Duration{2*time.Hour - 270*time.Second} // one asked for by a new device, between two slots
		for minutes := range 60 * hours / 10 {
			slots = append(slots, time.Duration(minutes)*10*time.Minute)
		}
		for _, after := range slots {
			slot := tables.TicksOf(morning.Add(after))
			e := must.Have(schema.WorkerFigures{Pipeline: "live", Slot: slot, Worker: "w", Rows: 1}.Entity())(t)
			must.Have(f.runs.Table.Do(t.Context(), tables.InsertOrReplace(e)))(t)
		}
		must.Succeed(t, f.runs.CountSpent(t.Context(), "live", 10*time.Minute, now))
		return must.Have(f.runs.Spent(t.Context(), "live", morning))(t).Rows
	}
	if got := counted(2, morning.Add(12*time.Hour)); got != 13 {
		t.Errorf("counted are %d runs, want 13", got)
	}
	if got := counted(6, morning.Add(7*time.Hour)); got != 37 {
		t.Errorf("once the clock is right, %d runs are counted, want 37", got)
	}
}

// TestDevicesOfTenantsAreCountedOncePerDay has devices of several tenants and partitions, and one that has moved away.
func TestDevicesOfTenantsAreCountedOncePerDay(t *testing.T) {
	t.Parallel()
	a, n := azuretest.Local(t), names(t)
	f := newFixture(t, a, n, nil).create(t)
	client := must.Have(tables.Connect(tables.Config{Account: account(t, a)}))(t)
	fleet := client.Table(n.Fleet())
	must.Succeed(t, fleet.Create(t.Context()))
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	count := func() string {
		must.Succeed(t, f.runs.CountTenantDevices(t.Context(), fleet, now))
		all := map[schema.Tenant]int64{}
		day := schema.DayOf(tables.TicksOf(now))
		for e, err := range f.runs.Table.Entities(t.Context(), tables.Query{Range: schema.TenantDevicesIn(day, day)}) {
			must.Succeed(t, err)
			d := must.Have(schema.TenantDevicesOf(e))(t)
			all[d.Tenant] = d.Devices
		}
		return fmt.Sprint(all)
	}
	add := func(tenant schema.Tenant, month time.Month, devices int, spans schema.Spans) {
		for i := range devices {
			m := schema.Member{Month: schema.Month{Year: 2026, Month: month}, Tenant: tenant, Readings: "readings", Spans: spans,
				Device: schema.DeviceID(fmt.Sprintf("%s-%d-%d", tenant, month, i))}
			must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
		}
	}
	add("a", 10, 3, nil)
	add("a", 11, 2, nil)
	add("b", 11, 4, nil)
	add("gone", 11, 1, schema.Spans{{To: tables.TicksOf(now.Add(-time.Hour))}})
	if got := count(); got != "map[:9 a:5 b:4]" {
		t.Error(got)
	}
	add("c", 11, 1, nil)
	if got := count(); got != "map[:9 a:5 b:4]" {
		t.Errorf("counted again on the same day: %s", got)
	}
	now = now.AddDate(0, 0, 1)
	if got := count(); got != "map[:10 a:5 b:4 c:1]" {
		t.Errorf("the next day: %s", got)
	}
}
