package model

import (
	"errors"
	"slices"
	"testing"
	"time"

	"furrow/jobs/rate"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// TestRatesAreShownLikeSensors: on the map, in the list of sensors and in charts, under
// the name of their sensor and /h.
func TestRatesAreShownLikeSensors(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Pipeline.Processors = append(f.Pipeline.Processors, rate.Processor.Default())
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Hour)
	f.Add(t, schema.Device{ID: "pump-7", Position: &schema.Position{Lat: 48, Lon: 1}})
	for n, temperature := range []float64{20, 21, 23} {
		f.Send(t, "pump-7", start.Add(time.Duration(n)*30*time.Minute), map[string]any{"temperature": temperature})
	}
	f.Fold(t)
	s := over(t, f)
	(*s.Accounts.all[0].current.Load())[0].Tables = []string{"latest", rate.Table}
	look(t, s)
	const name = "temperature/h"
	m := s.Maps.mapAt(MapQuery{Zoom: 8, Sensor: name}, time.Now())
	if len(m.Devices) != 1 || m.Devices[0].Value != 3.0 || m.Unit != "°C/h" {
		t.Errorf("the map is %+v", m)
	}
	all := s.Sensors.ofTenant("")
	if len(all) != 2 || all[1].Name != name || all[1].Kind != "rate" || all.first() != "temperature" {
		t.Errorf("the sensors are %+v", all)
	}
	a, err := s.Devices.Device(t.Context(), "pump-7")
	if err != nil || len(a.Rates) != 1 || len(a.Latest) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if r := a.Rates[0]; r.Sensor != "temperature" || r.Unit != "°C" || r.Difference != 2 || r.PerHour != 4 ||
		r.Over == nil || *r.Over != (answers.RateChange{Difference: 3, PerHour: 3}) {
		t.Errorf("its rate is %+v", r)
	}
	q := SeriesQuery{Device: "pump-7", Sensor: name, From: start, To: start.Add(2 * time.Hour)}
	c, err := s.Charts.Series(t.Context(), q)
	if err != nil || c.Window != "1h" || c.Unit != "°C/h" || len(c.Points) != 2 || *c.Points[0].Mean != 2 ||
		*c.Points[1].Mean != 4 {
		t.Errorf("its chart is %+v, %v", c, err)
	}
	var wrong *QueryError
	q.Window = raw
	if _, err := s.Charts.Series(t.Context(), q); !errors.As(err, &wrong) {
		t.Errorf("single readings have a rate: %v", err)
	}
	if _, err := s.Charts.Day(t.Context(), DayQuery{Tenant: "contoso", Sensor: name}); !errors.As(err, &wrong) {
		t.Errorf("a tenant's day has a rate: %v", err)
	}
}

func TestRatesAreInTheOrderOfTheirNames(t *testing.T) {
	row := query.NewestRates{Device: "pump-7", Part: 1, Values: []query.Rate{{Sensor: "flow"}, {Sensor: "flow-2"}}}
	var got []string
	for _, v := range rateValues([]query.NewestRates{row})[0].Values {
		got = append(got, v.Sensor)
	}
	if want := []string{"flow-2/h", "flow/h"}; !slices.Equal(got, want) {
		t.Errorf("the rates are %q, want %q", got, want)
	}
}
