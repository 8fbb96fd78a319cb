package model

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model/modeltest"
)

// TestUnitOfAValueIsThatOfItsDevicesModel has models that state °F and °C for one sensor, and one that states nothing.
// What is of many devices has no unit.
func TestUnitOfAValueIsThatOfItsDevicesModel(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	at := time.Now().Add(-2 * time.Minute)
	stated := map[string]string{"boston": "°F", "paris": "°C", "rome": ""}
	for site := range stated {
		f.Add(t, schema.Device{ID: schema.DeviceID(site), Site: schema.Site(site)})
		f.Send(t, schema.DeviceID(site), at, map[string]any{"temperature": 20.0})
	}
	f.Fold(t)
	s := over(t, f)
	p := &(*s.Accounts.all[0].current.Load())[0]
	p.Model = func(m schema.Member) string { return string(m.Site) }
	p.Unit = func(_ string, models ...string) string {
		if len(models) == 0 {
			return ""
		}
		return stated[models[0]]
	}
	look(t, s)
	q := FleetQuery{From: at.Add(-time.Minute), To: at.Add(time.Minute), Window: "1m", Part: Part{Limit: 10}}
	for door, ask := range map[string]func() (Export, error){
		"readings": func() (Export, error) { return s.FleetRows.Readings(t.Context(), q) },
		"windows":  func() (Export, error) { return s.FleetRows.Windows(t.Context(), q) },
		"newest":   func() (Export, error) { return s.FleetRows.Newest(t.Context(), q) },
		"list": func() (Export, error) {
			return s.Lists.Listed(t.Context(), ListQuery{Sensor: "temperature", Limit: 10})
		},
	} {
		rows := 0
		for row := range must.Have(ask())(t).Rows {
			rows++
			text := string(must.Have(answers.Marshal(row))(t))
			for site, unit := range stated {
				if has := regexp.MustCompile("°.").FindString(text); strings.Contains(text, site) && has != unit {
					t.Errorf("%s of %s: %s, want the unit %q", door, site, text, unit)
				}
			}
		}
		if rows != len(stated) {
			t.Errorf("%s: %d rows", door, rows)
		}
	}
	for site, unit := range stated {
		d := must.Have(s.Devices.Device(t.Context(), site))(t)
		c := must.Have(s.Charts.Series(t.Context(), SeriesQuery{Device: site, From: q.From, To: q.To}))(t)
		if d.Latest[0].Unit != unit || c.Unit != unit {
			t.Errorf("%s: its page has the unit %q, its chart %q", site, d.Latest[0].Unit, c.Unit)
		}
	}
	list := must.Have(s.Lists.Devices(t.Context(), ListQuery{}))(t)
	m := s.Maps.mapAt(MapQuery{Sensor: "temperature"}, time.Now())
	if all := fmt.Sprint(m.Unit, list.Unit, s.Sensors.ofTenant("")[0].Unit); all != "" {
		t.Errorf("of many devices: %s", all)
	}
}
