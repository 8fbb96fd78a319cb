package outliers_test

import (
	"fmt"
	"testing"

	"furrow/worker/outliers"
)

// site returns devices of a site with the newest values of a sensor, and windows that each of them had.
func site(values []float64, windows ...func(i, k int) outliers.Window) (all []outliers.Device) {
	for i, value := range values {
		s := outliers.Sensor{Name: "s", Value: value}
		for k := range s.Windows {
			for _, window := range windows {
				s.Windows[k] = window(i, k)
			}
		}
		all = append(all, outliers.Device{ID: fmt.Sprint(i), Groups: []string{"north"}, Sensors: []outliers.Sensor{s}})
	}
	return all
}

// wobbly has means that rise with the windows, for all alike.
func wobbly(i, k int) outliers.Window {
	mean := float64(i%5)/10 + float64(k)
	return outliers.Window{Count: 60, Mean: mean, Min: mean - 0.5, Max: mean + 0.5}
}

func upTo(n int, plus ...float64) (all []float64) {
	for i := range n {
		all = append(all, float64(i%5)/10)
	}
	return append(all, plus...)
}

// TestOnlyWhatNeighboursShowIsFound has sites of one device that is odd in some way, the last, and what it is found to
// be.
func TestOnlyWhatNeighboursShowIsFound(t *testing.T) {
	steady := func(_, k int) outliers.Window {
		return outliers.Window{Count: 60, Mean: 4, Min: 4, Max: 4}
	}
	lastIs := func(last func(k int) outliers.Window) func(i, k int) outliers.Window {
		return func(i, k int) outliers.Window {
			if i == 12 {
				return last(k)
			}
			return wobbly(i, k)
		}
	}
	with := func(add func(k int) float64) func(i, k int) outliers.Window {
		return lastIs(func(k int) outliers.Window {
			w := wobbly(0, k)
			return outliers.Window{Count: 60, Mean: w.Mean + add(k), Min: w.Min + add(k), Max: w.Max + add(k)}
		})
	}
	of := func(all []outliers.Device, change func(last *outliers.Device)) []outliers.Device {
		change(&all[len(all)-1])
		return all
	}
	for name, test := range map[string]struct {
		devices []outliers.Device
		want    outliers.Kind
	}{
		"a value far away":             {site(upTo(12, 9)), outliers.Off},
		"one far below":                {site(upTo(12, -9)), outliers.Off},
		"one of five":                  {site(upTo(4, 9)), ""},
		"an open door among shut ones": {site(append(make([]float64, 12), 1)), ""},
		"another setpoint":             {site(append(make([]float64, 12), 9), steady), ""},
		"far, but within the noise":    {site(upTo(12, 3), wobbly), ""},
		"another model":                {of(site(upTo(12, 9)), func(d *outliers.Device) { d.Class = "other" }), ""},
		"another site": {of(site(upTo(12, 9)), func(d *outliers.Device) {
			d.Groups = []string{"south"}
		}), ""},
		"a small site, and a label": {of(site(upTo(12, 9)), func(d *outliers.Device) {
			d.Groups = []string{"south", "north"}
		}), outliers.Off},
		"one value of all windows": {site(upTo(12, 2), lastIs(func(int) outliers.Window {
			return outliers.Window{Count: 60, Mean: 2, Min: 2, Max: 2}
		})), outliers.Stuck},
		"a quiet site": {site(append(make([]float64, 12), 4), steady), ""},
		"a slow growth": {site(upTo(12, 0), with(func(k int) float64 { return float64(k) })),
			outliers.Drifting},
		"a step": {site(upTo(12, 0), with(func(k int) float64 { return float64(5 * (k / 3)) })), ""},
		"great noise": {site(upTo(12, 0), lastIs(func(k int) outliers.Window {
			return outliers.Window{Count: 60, Mean: float64(k), Min: float64(k) - 5, Max: float64(k) + 5}
		})), outliers.Noisy},
		"twice the noise": {site(upTo(12, 0), lastIs(func(k int) outliers.Window {
			return outliers.Window{Count: 60, Mean: float64(k), Min: float64(k) - 1, Max: float64(k) + 1}
		})), ""},
		"one spike": {site(upTo(12, 0), lastIs(func(k int) outliers.Window {
			return outliers.Window{Count: 60, Mean: float64(k), Min: float64(k) - 0.5, Max: float64(k) + 0.5 + float64(k/5*9)}
		})), ""},
	} {
		kind := outliers.Kind("")
		for _, o := range outliers.Find(test.devices).Outliers {
			if kind = o.Kind; o.Device != test.devices[len(test.devices)-1].ID {
				t.Errorf("%s: %+v is found", name, o)
			}
		}
		if kind != test.want {
			t.Errorf("%s: it is %q; want %q", name, kind, test.want)
		}
	}
}
