package cost_test

import (
	"math"
	"testing"

	"furrow/tables/schema"
	"furrow/worker/cost"
)

const day = schema.Day(739940)

// counted has two tenants. One loses a device after the first day. On the last day nobody has counted devices.
func counted() cost.Counted {
	return cost.Counted{From: day, To: day + 2,
		Spent: []schema.Spending{
			{Pipeline: "live", Day: day, Through: (day + 1).Start(), Operations: map[string]int64{"tables query": 400}},
			{Pipeline: "live", Day: day + 2, Through: (day + 3).Start(), Operations: map[string]int64{"tables query": 300}},
			{Pipeline: "slow", Day: day + 2, Through: (day + 3).Start(), Operations: map[string]int64{"queues put": 30}}},
		Devices: []schema.TenantDevices{{Day: day, Tenant: "", Devices: 4}, {Day: day, Tenant: "a", Devices: 3},
			{Day: day, Tenant: "b", Devices: 1}, {Day: day + 1, Tenant: "a", Devices: 2},
			{Day: day + 1, Tenant: "b", Devices: 1}},
		Stored: map[schema.Tenant]map[schema.Day]schema.Stored{
			"a": {day: {Rows: 10, Bytes: 1 << 30, Devices: 2}, day + 2: {Rows: 5, Bytes: 100, Devices: 1}}}}
}

// TestOperationsOfADayAreDividedByItsDevices: 3 of 4 devices on the first day, and 2 of 3 on the last.
func TestOperationsOfADayAreDividedByItsDevices(t *testing.T) {
	got := cost.Of(counted())
	if len(got.Tenants) != 2 || got.Tenants[0].Tenant != "a" {
		t.Fatalf("%+v", got)
	}
	a, b := got.Tenants[0], got.Tenants[1]
	for _, is := range []struct{ got, want float64 }{
		{a.Operations["tables query"], 300 + 200}, {b.Operations["tables query"], 100 + 100},
		{a.Operations["queues put"], 20}, {b.Operations["queues put"], 10},
		{a.USD.Inserts, 15 * 0.036e-6}, {a.USD.Storage, 0.045 * (1 + 100./(1<<30))}, {b.USD.Inserts + b.USD.Storage, 0},
		{a.USD.Work, 500*0.036e-6 + 20*0.4e-6}, {a.USD.Total, a.USD.Inserts + a.USD.Work + a.USD.Storage},
		{got.Fleet.USD.Total, a.USD.Total + b.USD.Total}, {got.Fleet.Operations["tables query"], 700},
	} {
		if math.Abs(is.got-is.want) > 1e-9*is.want {
			t.Errorf("%v, want %v in\n%+v\n%+v\n%+v", is.got, is.want, a, b, got.Fleet)
		}
	}
	if a.Devices != 3 || a.DeviceDays != 3+2+2 || a.Writing != 2 || a.Readings != 15 || got.Fleet.Devices != 4 ||
		got.Through == nil || !got.Through.Equal((day + 3).Start().Time()) {
		t.Errorf("%+v\n%+v", a, got)
	}
}

// TestCostsOfOneTenantTellNothingOfAnother: the other's devices count in the share alone.
func TestCostsOfOneTenantTellNothingOfAnother(t *testing.T) {
	c := counted()
	whole := cost.Of(c)
	c.Tenant = "b"
	got := cost.Of(c)
	if len(got.Tenants) != 1 || got.Fleet != nil || got.Tenants[0].USD != whole.Tenants[1].USD {
		t.Errorf("%+v, want the second of %+v", got, whole)
	}
}

// TestDaysAddUpToTheTime: the lines of days sum up to that of their tenant, and days before the first count without
// operations have none.
func TestDaysAddUpToTheTime(t *testing.T) {
	c := counted()
	c.From -= 2
	whole := cost.Of(c)
	c.ByDay = true
	sums := map[string]float64{}
	days := cost.Of(c)
	for _, l := range days.Tenants {
		sums[l.Tenant] += l.USD.Total
		if l.Day < day.String() {
			t.Errorf("nobody has counted on the day: %+v", l)
		}
	}
	for _, l := range whole.Tenants {
		if math.Abs(sums[l.Tenant]-l.USD.Total) > 1e-9*l.USD.Total {
			t.Errorf("%s: days cost %v, all of them %v", l.Tenant, sums[l.Tenant], l.USD.Total)
		}
	}
}
