package model

import (
	"errors"
	"testing"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestSensorOfThePastIsFoundByItsName has a device that sent rpm so long ago that no newest value is of it, and a
// tenant that has only had the device before it moved. A mistyped name is refused where no past can have it.
func TestSensorOfThePastIsFoundByItsName(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	now, id := time.Now(), "pump-7"
	past := now.Add(-latest.MaxAge - 48*time.Hour)
	f.Add(t, schema.Device{ID: schema.DeviceID(id)}, schema.Device{ID: "pump-8", Tenant: "fabrikam"})
	f.Send(t, schema.DeviceID(id), past, map[string]any{"rpm": 900.0})
	f.Send(t, schema.DeviceID(id), now.Add(-time.Minute), map[string]any{"temperature": 20.0})
	f.Send(t, "pump-8", now.Add(-time.Minute), map[string]any{"temperature": 20.0})
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	for _, c := range []struct {
		from    time.Time
		sensor  string
		rows    int
		refused bool
	}{{past.Add(-time.Hour), "rpm", 1, false}, {past.Add(-time.Hour), "rmp", 0, false},
		{now.Add(-time.Hour), "rmp", 0, true}} {
		where := must.Have(condition.Parse(c.sensor + " > 1"))(t)
		wide := FleetQuery{Sensors: []string{c.sensor}, From: c.from, To: now, Window: "1d", Part: Part{Limit: 10}}
		one := ReadingsQuery{Device: id, Sensors: wide.Sensors, From: c.from, To: now, Part: wide.Part}
		searched, oneSearched := wide, one
		searched.Sensors, searched.Where, oneSearched.Sensors, oneSearched.Where = nil, where, nil, where
		for door, ask := range map[string]func() (Export, error){
			"windows":                  func() (Export, error) { return s.FleetRows.Windows(t.Context(), wide) },
			"windows with a condition": func() (Export, error) { return s.FleetRows.Windows(t.Context(), searched) },
			"readings of all":          func() (Export, error) { return s.FleetRows.Readings(t.Context(), wide) },
			"searched readings of all": func() (Export, error) { return s.FleetRows.Readings(t.Context(), searched) },
			"readings":                 func() (Export, error) { return s.DeviceRows.Readings(t.Context(), one) },
			"searched readings":        func() (Export, error) { return s.DeviceRows.Readings(t.Context(), oneSearched) },
		} {
			rows := 0
			out, err := ask()
			if err == nil {
				for _, err := range out.Rows {
					must.Succeed(t, err)
					rows++
				}
			}
			if wrong := (*QueryError)(nil); errors.As(err, &wrong) != c.refused || rows != c.rows {
				t.Errorf("%s of %s: %d rows, %v; want %d", door, c.sensor, rows, err, c.rows)
			}
		}
		day := DayQuery{Tenant: "contoso", Sensor: c.sensor, Day: new(schema.DayOf(tables.TicksOf(c.from.Add(time.Hour))))}
		out, err := s.Charts.Day(t.Context(), day)
		if (err != nil) != c.refused || len(out.Points) != c.rows {
			t.Errorf("a day of %s: %+v, %v", c.sensor, out, err)
		}
	}
	if err := s.Sensors.since("fabrikam", now).checkSensor("fabrikam", "rpm"); err == nil {
		t.Error("a sensor that fabrikam never had is not refused")
	}
	s.Accounts.index.formerly(&device{id: id}, &schema.Device{Tenant: "contoso", Former: []schema.Tenant{"fabrikam"}})
	if err := s.Sensors.since("fabrikam", now).checkSensor("fabrikam", "rpm"); err != nil {
		t.Errorf("a sensor that only a device had that has moved: %v", err)
	}
}
