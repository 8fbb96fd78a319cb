package model

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"furrow/jobs/condition"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model/modeltest"
)

// TestReadingsOfManyDevicesGoOn has each part end as soon as it may, in a fleet most of whose devices have no rows.
func TestReadingsOfManyDevicesGoOn(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 6)
	for i := range 3 * devicesAtOnce {
		f.Add(t, schema.Device{ID: schema.DeviceID(fmt.Sprintf("e%04d", i)), Tenant: "contoso",
			Month: schema.Month{Year: 2026, Month: 10}})
	}
	s := over(t, f)
	look(t, s)
	q := FleetQuery{From: time.Now().Add(-24 * time.Hour), To: time.Now(), Part: Part{Limit: 1000}}
	rows, parts := map[string]string{}, 0
	for ; parts == 0 || q.After != ""; parts++ {
		out := must.Have(s.FleetRows.Readings(t.Context(), q))(t)
		out.Answer.Reach().End()
		last := ""
		for row, err := range out.Rows {
			must.Succeed(t, err)
			r := row.(answers.Reading)
			if rows[r.Device+r.Row] != "" || r.Device == last[:min(len(last), len(r.Device))] && last > r.Device+r.Row {
				t.Errorf("%s of %s comes twice, or after %s", r.Row, r.Device, last)
			}
			last = r.Device + r.Row
			rows[last] = r.Device
			if r.Units.Map()["temperature"] != "°C" {
				t.Errorf("a reading without its unit: %+v", r)
			}
		}
		if q.After = out.Answer.Reach().Next; parts > 100 {
			t.Fatal("it does not end")
		}
	}
	if len(rows) != 24 || parts < 4 {
		t.Errorf("%d rows in %d parts, want 24 in more than 4", len(rows), parts)
	}
	q.Where = must.Have(condition.Parse(`temperature > 1 and door == "open"`))(t)
	n := 0
	for row, err := range must.Have(s.FleetRows.Readings(t.Context(), q))(t).Rows {
		must.Succeed(t, err)
		if r := row.(answers.Reading); r.Values.Map()["door"] != "open" {
			t.Errorf("%+v", r)
		}
		n++
	}
	if n == 0 {
		t.Error("the condition holds for no row")
	}
	q.Where, q.Devices = nil, []string{"d0001", "nosuch"}
	if _, err := s.FleetRows.Readings(t.Context(), q); !errors.Is(err, ErrUnknown) {
		t.Errorf("a device that does not exist: %v", err)
	}
}
