package outliers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/worker/outliers"
)

// A fleet sends a reading a minute, for which it keeps the newest value and the windows of the last hours.
type fleet struct {
	devices []outliers.Device
	now     time.Time
	site    []int
	own     []float64 // what each device is off by, as all are
	random  *rand.Rand
	hours   map[int][]outliers.Window // of each device, the hour that is not complete last
	wrong   map[int]fault
}

// A fault changes what a device sends; false: it sends nothing.
type fault func(minutes int, value float64) (float64, bool)

// newFleet returns a fleet of sites on five continents: no two of them have the same climate.
func newFleet(devices, sites int) *fleet {
	f := &fleet{now: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), random: rand.New(rand.NewPCG(1, 2)),
		hours: map[int][]outliers.Window{}, wrong: map[int]fault{}}
	for i := range devices {
		f.site = append(f.site, i%sites)
		f.own = append(f.own, f.random.NormFloat64()*0.3)
		f.devices = append(f.devices, outliers.Device{ID: fmt.Sprintf("d%04d", i), Groups: []string{fmt.Sprint(i % sites)},
			Sensors: []outliers.Sensor{{Name: "temperature"}}})
	}
	return f
}

// climate is the temperature of a site: it has a mean, a day, and a noise that is its own.
func (f *fleet) climate(site int) (temperature, noise float64) {
	hour := f.now.Sub(f.now.Truncate(24*time.Hour)).Hours() + float64(site)
	return -10 + 45*float64(site)/30 + (2+float64(site%7))*math.Sin(hour*math.Pi/12), 0.1 + 0.05*float64(site%9)
}

// run lets all devices send for so many minutes, and calls after at the end of each.
func (f *fleet) run(minutes int, after func(minute int)) {
	for minute := range minutes {
		if f.now = f.now.Add(time.Minute); f.now.Minute() == 0 {
			f.endHour()
		}
		for i := range f.devices {
			mean, noise := f.climate(f.site[i])
			value, sends := mean+f.own[i]+noise*f.random.NormFloat64(), true
			if wrong := f.wrong[i]; wrong != nil {
				value, sends = wrong(minute, value)
			}
			if sends {
				f.send(i, value)
			}
		}
		after(minute + 1)
	}
}

func (f *fleet) send(i int, value float64) {
	s := &f.devices[i].Sensors[0]
	s.Value, s.At = value, f.now
	if len(f.hours[i]) == 0 {
		f.hours[i] = make([]outliers.Window, 1)
	}
	w := &f.hours[i][len(f.hours[i])-1]
	if w.Count == 0 {
		w.Min, w.Max = value, value
	}
	w.Mean = (w.Mean*float64(w.Count) + value) / float64(w.Count+1)
	w.Count, w.Min, w.Max = w.Count+1, min(w.Min, value), max(w.Max, value)
}

func (f *fleet) endHour() {
	for i := range f.devices {
		all := f.hours[i]
		last := all[max(0, len(all)-outliers.Windows):]
		copy(f.devices[i].Sensors[0].Windows[outliers.Windows-len(last):], last)
		f.hours[i] = append(slices.Clone(last), outliers.Window{})
	}
}

// found returns the kinds of the devices that stand out. Silent are those that were not heard for three minutes.
func (f *fleet) found() map[string]outliers.Kind {
	kinds := map[string]outliers.Kind{}
	for i := range f.devices {
		if d := &f.devices[i]; f.now.Sub(d.Sensors[0].At) > 3*time.Minute {
			d.Silent = d.Sensors[0].At.Add(3 * time.Minute)
		}
	}
	for _, o := range outliers.Find(f.devices).Outliers {
		kinds[o.Device] = o.Kind
	}
	return kinds
}

// TestWrongDevicesOfALargeFleetStandOut has five wrong devices among 5,000 of 30 sites: each is found in time, and no
// other ever is.
func TestWrongDevicesOfALargeFleetStandOut(t *testing.T) {
	f := newFleet(5000, 30)
	f.run(8*60+17, func(minute int) {
		if found := f.found(); minute%10 == 0 && len(found) > 0 {
			t.Fatalf("after %d minutes without a fault, %v stand out", minute, found)
		}
	})
	held := f.devices[200].Sensors[0].Value
	f.wrong = map[int]fault{
		100: func(_ int, v float64) (float64, bool) { return v + 20, true },
		200: func(int, float64) (float64, bool) { return held, true },
		300: func(int, float64) (float64, bool) { return 0, false },
		400: func(_ int, v float64) (float64, bool) { return v + 10*0.5*f.random.NormFloat64(), true },
		500: func(minute int, v float64) (float64, bool) { return v + float64(minute)/60, true },
	}
	want := map[string]outliers.Kind{"d0100": outliers.Off, "d0200": outliers.Stuck, "d0300": outliers.Silent,
		"d0400": outliers.Noisy, "d0500": outliers.Drifting}
	within := map[string]int{"d0100": 2, "d0300": 5, "d0200": 360, "d0400": 360, "d0500": 360}
	first := map[string]int{}
	f.run(6*60, func(minute int) {
		if minute > 5 && minute%10 != 0 {
			return
		}
		for device := range f.found() {
			if want[device] == "" {
				t.Fatalf("after %d minutes, %s stands out, too", minute, device)
			}
			if first[device] == 0 {
				first[device] = minute
			}
		}
	})
	for device, minutes := range within {
		if first[device] == 0 || first[device] > minutes {
			t.Errorf("%s stands out after %d minutes (0: never); want at most %d", device, first[device], minutes)
		}
	}
	if found := f.found(); !reflect.DeepEqual(found, want) {
		t.Errorf("in the end %v stand out; want %v", found, want)
	}
}

// TestNothingStandsOutOfAFleetWithoutAFault looks every ten minutes of a day, or every minute.
func TestNothingStandsOutOfAFleetWithoutAFault(t *testing.T) {
	f, every := newFleet(5000, 30), 10
	if effort.Long() {
		every = 1
	}
	f.run(24*60, func(minute int) {
		if minute%every != 0 {
			return
		}
		if found := f.found(); len(found) > 0 {
			t.Fatalf("after %d minutes, %v stand out", minute, found)
		}
	})
}

// TestSmallSitesHaveNoFalseOutliers has 600 sites with seven devices each, which tell the spread badly.
func TestSmallSitesHaveNoFalseOutliers(t *testing.T) {
	f := newFleet(4200, 600)
	f.run(24*60, func(minute int) {
		if minute%30 != 0 {
			return
		}
		if found := f.found(); len(found) > 0 {
			t.Errorf("after %d minutes, %v stand out", minute, found)
		}
	})
}
