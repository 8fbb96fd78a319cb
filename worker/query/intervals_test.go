package query

import (
	"testing"
	"time"

	"furrow/tables"
)

// TestIntervalIsWhatMostDevicesTell: also of devices that send several rows at once, and of one that differs.
func TestIntervalIsWhatMostDevicesTell(t *testing.T) {
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	at := func(seconds ...float64) (all []tables.Ticks) {
		for _, s := range seconds {
			all = append(all, tables.TicksOf(start.Add(time.Duration(s*float64(time.Second)))))
		}
		return all
	}
	for name, c := range map[string]struct {
		arrived []tables.Ticks
		want    time.Duration
	}{
		"hourly":            {at(0, 3603, 7198, 10_801), 3603 * time.Second},
		"batches":           {at(0, 0.1, 0.2, 300, 300.1, 600, 600.4, 601, 900), 300 * time.Second},
		"a gap":             {at(0, 60, 120, 180, 9_000), 60 * time.Second},
		"too few":           {at(0, 60, 120), 0},
		"imported together": {at(0, 0.1, 0.2, 0.3, 0.4), 0},
	} {
		if got := usual(apart(c.arrived)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for _, c := range []struct {
		of   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{3603 * time.Second, 3500 * time.Second, 60 * time.Second}, time.Hour},
		{[]time.Duration{61 * time.Second}, time.Minute},
		{[]time.Duration{7 * time.Second}, 7 * time.Second},
		{[]time.Duration{time.Hour, time.Minute, time.Second}, 0},
		{nil, 0},
	} {
		if got := Agreed(c.of); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}
