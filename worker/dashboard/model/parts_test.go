package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestDeviceOfManySensorsIsWhole: its outputs are several entities.
func TestDeviceOfManySensorsIsWhole(t *testing.T) {
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
	a, _, err := s.Device(t.Context(), "pump-7")
	if err != nil || len(a.Latest) != sensors {
		t.Fatalf("%d newest values, %v", len(a.Latest), err)
	}
	for _, sensor := range []string{"v_s0", "v_s449"} {
		got, _, err := s.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: sensor, From: to.Add(-time.Hour), To: to,
			Window: "1m"})
		if err != nil || len(got.Points) != 3 {
			t.Errorf("%s: %+v, %v", sensor, got, err)
		}
	}
	one, _, err := s.Tenant(t.Context(), string(f.Devices[0].Tenant))
	if err != nil || one.ReadingsToday > 3 {
		t.Errorf("%+v, %v", one, err)
	}
}
