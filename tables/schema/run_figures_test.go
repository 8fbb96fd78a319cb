package schema_test

import (
	"reflect"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

const slot = tables.Ticks(639273000000000000)

// fill sets every figure of a struct to a different value.
func fill(figures any) {
	v := reflect.ValueOf(figures).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int64 && v.Field(i).Type() == reflect.TypeFor[int64]() {
			v.Field(i).SetInt(int64(100 + i))
		}
	}
}

func TestFiguresAreReadAsWritten(t *testing.T) {
	m := schema.MonthFigures{Pipeline: "live", Slot: slot, Month: schema.Month{Year: 2026, Month: 11, Shard: 3},
		Lag: 90 * time.Second}
	fill(&m)
	e := must.Have(m.Entity())(t)
	if got, err := schema.MonthFiguresOf(e); err != nil || got != m || !schema.IsMonthFigures(e) ||
		schema.IsWorkerFigures(e) {
		t.Errorf("%+v, %v; want %+v", got, err, m)
	}
	months := schema.MonthsBetween("live", slot, m.Month, m.Month)
	if !months.Rows.Contains(e.RowKey) {
		t.Errorf("%s is not among the months", e.RowKey)
	}

	w := schema.WorkerFigures{
		Pipeline: "live", Slot: slot, Worker: "a-1", First: slot + 1, Last: slot + 2,
		Jobs: map[string]int64{"device done": 1, "": 7}, Operations: map[string]int64{"tables insert or replace": 2},
	}
	fill(&w)
	e = must.Have(w.Entity())(t)
	if got, err := schema.WorkerFiguresOf(e); err != nil || !reflect.DeepEqual(got, w) || schema.IsMonthFigures(e) ||
		!schema.IsWorkerFigures(e) {
		t.Errorf("%+v, %v; want %+v", got, err, w)
	}
	if months.Rows.Contains(e.RowKey) {
		t.Errorf("%s is among the months", e.RowKey)
	}
	if !schema.FiguresSince("live", slot).Contains(e.PartitionKey) ||
		schema.FiguresSince("live", slot+1).Contains(e.PartitionKey) {
		t.Errorf("%s is not where it should be", e.PartitionKey)
	}

	a := schema.AuditMark{Pipeline: "live", Slot: slot, Since: slot - 7}
	e = must.Have(a.Entity())(t)
	if got, err := schema.AuditMarkOf("live", e); err != nil || got != a ||
		schema.FiguresSince("live", 0).Contains(e.PartitionKey) {
		t.Errorf("%+v, %v; want %+v", got, err, a)
	}
}

func TestFiguresAddUp(t *testing.T) {
	var a, b, sum schema.WorkerFigures
	fill(&a)
	fill(&b)
	a.First, a.Last, b.First, b.Last = 5, 8, 3, 9
	a.Jobs, b.Jobs = map[string]int64{"device done": 1}, map[string]int64{"device done": 2, "month done": 1}
	sum.Add(a)
	sum.Add(b)
	if sum.Rows != 2*a.Rows || sum.Again != 2*a.Again || sum.First != 3 || sum.Last != 9 || sum.Jobs["device done"] != 3 ||
		sum.Jobs["month done"] != 1 {
		t.Errorf("%+v", sum)
	}
	if a.Jobs["device done"] != 1 {
		t.Error("Add changed its argument")
	}
	m := schema.MonthFigures{Devices: 3, Lag: time.Minute}
	m.Add(schema.MonthFigures{Devices: 4, Lag: time.Second})
	if m.Devices != 7 || m.Lag != time.Minute {
		t.Errorf("%+v", m)
	}
}

func TestInvalidFiguresAreErrors(t *testing.T) {
	key := schema.FiguresPartition("live", slot)
	for _, e := range []tables.Entity{
		{PartitionKey: key, RowKey: "month!2026-13"}, {PartitionKey: key, RowKey: "month"},
		{PartitionKey: "live!x", RowKey: "month!2026-11"}, {PartitionKey: key, RowKey: "worker!2026-11"},
	} {
		if _, err := schema.MonthFiguresOf(e); err == nil {
			t.Errorf("%s %s is read as a month's", e.PartitionKey, e.RowKey)
		}
	}
	for _, e := range []tables.Entity{{PartitionKey: key, RowKey: "worker!a"},
		{PartitionKey: "live", RowKey: "worker!a!0"}} {
		if _, err := schema.WorkerFiguresOf(e); err == nil {
			t.Errorf("%s %s is read as a worker's", e.PartitionKey, e.RowKey)
		}
	}
	if _, err := (schema.WorkerFigures{Pipeline: "live", Slot: slot, Worker: "a!b"}).Entity(); err == nil {
		t.Error("an ID with a separator is accepted")
	}
}
