package answers

import (
	"time"

	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/worker/query"
)

// SensorWindows are the sensors of a device in a window of time.
type SensorWindows struct {
	Device  string                 `json:"device" column:"device"`
	Time    time.Time              `json:"time" column:"time"`    // start of the window
	Sensors BySensor[SensorWindow] `json:"sensors" each:"sensor"` // by name
	// That the device belonged to then. A window in which it moved comes for each of its tenants.
	Tenant string `json:"tenant" column:"tenant"`
	Window string `json:"window"` // length of the window, such as 1h
}

// A SensorWindow sums up the numbers of a sensor in a window of time.
type SensorWindow struct {
	Aggregate
	Unit string `json:"unit,omitempty" column:"unit"`
}

// An Aggregate sums up numbers.
type Aggregate struct {
	Count int64   `json:"count" column:"count"`
	Sum   float64 `json:"sum" column:"sum"`
	Min   float64 `json:"min" column:"min"`
	Max   float64 `json:"max" column:"max"`
	First float64 `json:"first" column:"first"` // by time
	Last  float64 `json:"last" column:"last"`   // by time
	Mean  float64 `json:"mean" column:"mean"`
}

// WindowsOf returns a bucket of rollups.
func WindowsOf(b query.Bucket) SensorWindows {
	w := SensorWindows{Device: string(b.Device), Time: b.Start.Time(), Tenant: string(b.Tenant),
		Window: b.Window.String(), Sensors: make(BySensor[SensorWindow], 0, len(b.Sensors))}
	for i := range b.Sensors {
		a := &b.Sensors[i]
		w.Sensors.set(a.Sensor, SensorWindow{aggregateOf(a.Aggregate), b.Model.UnitOf(a.Sensor)})
	}
	return w
}

func aggregateOf(a rollup.Aggregate) Aggregate {
	return Aggregate{a.Count, a.Sum, a.Min, a.Max, a.First, a.Last, a.Sum / float64(a.Count)}
}

// A Report is what the devices of a group have measured in a window of time.
type Report struct {
	Tenant string `json:"tenant" column:"tenant"`
	// A site, or the value of a label. Absent by tenant.
	Group   string                 `json:"group,omitempty" column:"group"`
	Time    time.Time              `json:"time" column:"time"`    // start of the window
	Sensors BySensor[SensorReport] `json:"sensors" each:"sensor"` // by name
	By      string                 `json:"by"`                    // what is reported together: tenant, site or labels.NAME
	Window  string                 `json:"window"`                // length of the window, such as 1h
	Devices int64                  `json:"devices"`               // devices with a number in the window
	// further sensors that are not reported: a report has at most 1,000
	More int64 `json:"more,omitempty"`
}

// A SensorReport sums up the numbers of a sensor of many devices.
type SensorReport struct {
	Aggregate
	Devices int64 `json:"devices" column:"devices"` // devices with a number of the sensor
}

// ReportOf returns a report.
func ReportOf(r query.Report) Report {
	out := Report{Tenant: string(r.Tenant), Group: r.Group, Time: r.Start.Time(), By: string(r.By),
		Window: r.Window.String(), Devices: r.Devices, More: r.More, Sensors: make(BySensor[SensorReport], 0, len(r.Sensors))}
	for _, a := range r.Sensors {
		out.Sensors.set(a.Sensor, SensorReport{aggregateOf(a.Aggregate.Aggregate), a.Devices})
	}
	return out
}

// NewestRates are the newest rates of change of a device.
type NewestRates struct {
	Device  string               `json:"device" column:"device"`
	Sensors BySensor[NewestRate] `json:"sensors" each:"sensor" behind:"time"`
}

// A NewestRate is how fast a sensor of a device changes.
type NewestRate struct {
	Time  time.Time `json:"time" column:"time,exact"`
	Value float64   `json:"value" column:"value"`
	RateChange
	Over *RateChange `json:"over,omitempty" column:"over_"` // since the start of the configured span
	Lat  *float64    `json:"lat,omitempty" column:"lat"`    // of the device at the reading, if readings tell
	Lon  *float64    `json:"lon,omitempty" column:"lon"`
	Unit string      `json:"unit,omitempty" column:"unit"` // of the sensor, and of differences
}

// A RateChange is a difference, and the same per hour.
type RateChange struct {
	Difference float64 `json:"difference" column:"difference"` // since the reading before
	PerHour    float64 `json:"perHour" column:"per_hour"`
}

// NewestRatesOf returns the newest rates of a device.
func NewestRatesOf(n query.NewestRates) NewestRates {
	out := NewestRates{Device: string(n.Device), Sensors: make(BySensor[NewestRate], 0, len(n.Values))}
	for _, r := range n.Values {
		out.Sensors.set(r.Sensor, NewestRateOf(r, n.Model.UnitOf(r.Sensor)))
	}
	return out
}

// NewestRateOf returns the newest rate of a sensor.
func NewestRateOf(r query.Rate, unit string) NewestRate {
	out := NewestRate{Time: r.At.Time(), Value: r.Value, RateChange: RateChange(r.Step), Over: (*RateChange)(r.Span),
		Unit: unit}
	out.Lat, out.Lon = degrees(r.Position)
	return out
}

func degrees(p *rate.Position) (lat, lon *float64) {
	if p == nil {
		return nil, nil
	}
	return &p.Lat, &p.Lon
}

// RateWindows are the rates of change of a device in a window of time.
type RateWindows struct {
	Device  string               `json:"device" column:"device"`
	Time    time.Time            `json:"time" column:"time"` // start of the window
	Sensors BySensor[RateWindow] `json:"sensors" each:"sensor"`
	Tenant  string               `json:"tenant" column:"tenant"` // that the device belonged to then
	Window  string               `json:"window"`                 // its length, such as 1h
}

// A RateWindow sums up the rates of a sensor in a window of time.
type RateWindow struct {
	Count      int64    `json:"count" column:"count"`           // differences between successive readings
	Difference float64  `json:"difference" column:"difference"` // their sum
	Hours      float64  `json:"hours" column:"hours"`           // that they cover
	Min        float64  `json:"min" column:"min"`               // change per hour
	Max        float64  `json:"max" column:"max"`
	Last       float64  `json:"last" column:"last"`
	Mean       float64  `json:"mean" column:"mean"`
	Lat        *float64 `json:"lat,omitempty" column:"lat"` // of the device at the last reading, if readings tell it
	Lon        *float64 `json:"lon,omitempty" column:"lon"`
	Unit       string   `json:"unit,omitempty" column:"unit"` // of the differences
}

// RatesOf returns a bucket of rates.
func RatesOf(b query.RateBucket) RateWindows {
	w := RateWindows{Device: string(b.Device), Time: b.Start.Time(), Tenant: string(b.Tenant), Window: b.Window.String(),
		Sensors: make(BySensor[RateWindow], 0, len(b.Sensors))}
	for _, t := range b.Sensors {
		one := RateWindow{Count: t.Count, Difference: t.Difference, Hours: rate.Hours(t.Over), Min: t.Min, Max: t.Max,
			Last: t.Last, Mean: t.Mean(), Unit: b.Model.UnitOf(t.Sensor)}
		one.Lat, one.Lon = degrees(t.Position)
		w.Sensors.set(t.Sensor, one)
	}
	return w
}
