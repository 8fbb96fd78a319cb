package model

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Series is the answer of /v1/devices/{id}/series and of /v1/tenants/{t}/day.
type Series struct {
	Sensor string    `json:"sensor"`
	Unit   string    `json:"unit,omitempty"`
	Window string    `json:"window"` // raw, 1m, 1h or 1d
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Points []Point   `json:"points"`

	// of a sensor whose values are texts, which has no points
	States []StateSpan `json:"states,omitempty"`
	More   bool        `json:"more,omitempty"` // there are more points than a series can have
	Counted

	Unreadable int `json:"unreadable,omitempty"` // rows in an unknown format; the points lack them

	// Of a tenant's day: devices with a number, at most at a time: in a window.
	Devices int  `json:"devices,omitempty"`
	Some    bool `json:"some,omitempty"` // of a tenant's day: not all of its devices were read
}

// A Point is a window of a series. In a raw series it is a reading, which has only a Value.
type Point struct {
	Time    time.Time `json:"time"`
	Value   *float64  `json:"value,omitempty"`
	Count   int64     `json:"count,omitempty"`
	Min     *float64  `json:"min,omitempty"`
	Max     *float64  `json:"max,omitempty"`
	Mean    *float64  `json:"mean,omitempty"`
	First   *float64  `json:"first,omitempty"`
	Last    *float64  `json:"last,omitempty"`
	Devices int       `json:"devices,omitempty"` // of a tenant's day
}

func pointOf(at tables.Ticks, a rollup.Aggregate) Point {
	return Point{Time: at.Time(), Count: a.Count, Min: &a.Min, Max: &a.Max, Mean: new(a.Sum / float64(a.Count)),
		First: &a.First, Last: &a.Last}
}

// A SeriesQuery asks for a chart of a device.
type SeriesQuery struct {
	Device   string
	Sensor   string // empty: the first of the device
	From, To time.Time
	Window   string // auto, raw or a size such as 1h; empty: auto
}

// points are what was read for a series.
type points struct {
	all     []Point
	more    bool
	skipped query.Skipped
}

const (
	maxPoints = 2000 // of a series
	fewPoints = 100  // windows of so few are drawn from single readings, where these are not too many
	raw       = "raw"
	auto      = "auto"
)

// Charts are the series of devices, and those of tenants' days.
type Charts struct {
	accounts *Accounts
	devices  *Devices
	sensors  *Census
	series   cache[points]
	states   cache[stateSpans]
	days     cache[tenantDay]
}

// seriesAge is how long a read chart is used; longer for a longer span.
func seriesAge(span time.Duration) time.Duration {
	return min(max(span/1000, 3*time.Second), time.Minute)
}

// Series returns what a device has measured.
func (cs *Charts) Series(ctx context.Context, q SeriesQuery) (Series, error) {
	o, err := cs.devices.owners.holder(ctx, q.Device)
	if err != nil {
		return Series{}, err
	}
	if q.Sensor == "" {
		if q.Sensor, err = cs.firstSensor(ctx, o.member); err != nil {
			return Series{}, err
		}
	}
	out := Series{Sensor: q.Sensor, Unit: cs.accounts.unitOf(o.member, q.Sensor), From: q.From.UTC(),
		To: q.To.UTC(), Points: []Point{}}
	if q.Sensor == "" {
		return out, nil
	}
	if q, err = cs.withoutEmptyYears(ctx, o.member, q); err != nil {
		return out, err
	}
	out.From, out.To = q.From.UTC(), q.To.UTC()
	window, err := cs.accounts.Configured().windowFor(q)
	if err != nil {
		return out, err
	}
	found, err := cs.points(ctx, o.member, q, window)
	if err == nil && len(found.all) == 0 {
		var isState bool
		isState, err = cs.isState(ctx, o.member, q.Sensor)
		if err == nil && isState {
			states, err := cs.stateSpans(ctx, o.member, q)
			out.Window, out.Unreadable = raw, int(states.skipped.N)
			out.States, out.More = states.all, states.more
			return out, err
		}
	}
	if window == 0 && found.more && (q.Window == "" || q.Window == auto) {
		if window = shortest(cs.accounts.Configured().windows(), q.To.Sub(q.From)); window != 0 {
			found, err = cs.points(ctx, o.member, q, window)
		}
	}
	out.Window, out.Unreadable = raw, int(found.skipped.N)
	if window != 0 {
		out.Window = window.String()
	}
	out.Points, out.More = append(out.Points, found.all...), found.more
	return out, err
}

// withoutEmptyYears shortens the span of a query that is too long for windows of any size to the time that has windows:
// who asks for all of time means all that there is.
func (cs *Charts) withoutEmptyYears(ctx context.Context, m schema.Member, q SeriesQuery) (SeriesQuery, error) {
	windows, outputs := cs.accounts.Configured().windows(), cs.accounts.fleetOf(m.Device).Outputs()
	begin := outputs.RollupsBegin
	if _, is := Rated(q.Sensor); is {
		windows, begin = rate.Windows(), outputs.RatesBegin
	}
	if q.Window == raw || len(windows) == 0 || shortest(windows, q.To.Sub(q.From)) != 0 {
		return q, nil
	}
	if end := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second); q.To.After(end) {
		q.To = end
	}
	from, err := begin(ctx, query.Question{Scope: query.ScopeOf(m), Span: spanOf(q.From, q.To),
		Window: slices.Max(windows)})
	if first := from.Time(); first.Before(q.To) {
		q.From = first
	} else if q.From.Before(q.To) {
		q.From = q.To.Add(-24 * time.Hour)
	}
	return q, err
}

// shortest returns the shortest window whose points fit a series of span, or zero.
func shortest(windows []schema.Window, span time.Duration) schema.Window {
	for _, w := range windows {
		if int64(span/time.Duration(w)) <= maxPoints*3/4 {
			return w
		}
	}
	return 0
}

// firstSensor returns the sensor that maps begin with, or else the first number of the device, or else its
// first sensor.
func (cs *Charts) firstSensor(ctx context.Context, m schema.Member) (string, error) {
	r, err := cs.devices.device(ctx, m)
	preferred, best, number := cs.sensors.ofTenant(string(m.Tenant)).first(), "", false
	for _, v := range r.latest { // by name
		if v.Sensor == preferred {
			return preferred, err
		}
		if is := v.Is != fold.State; best == "" || is && !number {
			best, number = v.Sensor, is
		}
	}
	return best, err
}

// isState reports whether the newest value of a sensor is a text. A sensor that the device does not have is an error.
func (cs *Charts) isState(ctx context.Context, m schema.Member, sensor string) (bool, error) {
	r, err := cs.devices.device(ctx, m)
	if err != nil {
		return false, err
	}
	var known []string
	for _, v := range r.latest {
		if v.Sensor == sensor {
			return v.Is == fold.State, nil
		}
		known = append(known, v.Sensor)
	}
	for _, v := range r.rates {
		known = append(known, v.Sensor+perHour)
	}
	if len(known) == 0 || slices.Contains(known, sensor) {
		return false, nil
	}
	return false, ofParam("sensor", unknownSensor(sensor, known))
}

// points reads the buckets of a sensor of a device, or its readings where the window is zero.
func (cs *Charts) points(
	ctx context.Context, m schema.Member, q SeriesQuery, window schema.Window,
) (points, error) {
	span, outputs := spanOf(q.From, q.To), cs.accounts.fleetOf(m.Device).Outputs()
	key := fmt.Sprintf("%s %s %d %s %s", ofMember(m), q.Sensor, window, span.From, span.To)
	ask := query.Question{Scope: query.ScopeOf(m), Span: span, Window: window}
	return cs.series.get(ctx, key, seriesAge(q.To.Sub(q.From)), func(ctx context.Context) (points, error) {
		if sensor, is := Rated(q.Sensor); is {
			ask.Sensors, ask.Limit = []string{sensor}, maxPoints+1
			return pointsOf(outputs.Rates(ctx, ask), ratePoint)
		}
		if window == 0 {
			return cs.readings(ctx, ask, q.Sensor)
		}
		ask.Sensors, ask.Limit = []string{q.Sensor}, maxPoints+1
		return pointsOf(outputs.Rollups(ctx, ask), func(b query.Bucket) Point {
			return pointOf(b.Start, b.Sensors[0].Aggregate)
		})
	})
}

// readings reads numbers of a sensor.
func (cs *Charts) readings(ctx context.Context, q query.Question, sensor string) (found points, err error) {
	q.Limit = 2 * maxPoints // rows; some lack the sensor
	rows := 0
	for v, err := range cs.valuesOf(ctx, q, sensor, &rows, &found.skipped) {
		if err != nil {
			return found, err
		}
		if v.Is == fold.Number {
			found.all = append(found.all, Point{Time: v.At.Time(), Value: &v.Number})
		}
		if len(found.all) > maxPoints {
			break
		}
	}
	found.more = rows == q.Limit || len(found.all) > maxPoints
	found.all = found.all[:min(len(found.all), maxPoints)]
	return found, nil
}

// valuesOf yields the values of a sensor of a device as the pipelines understand them, without doubtful ones, which are
// in no window either, and counts the rows that it reads.
func (cs *Charts) valuesOf(
	ctx context.Context, q query.Question, sensor string, rows *int, skipped *query.Skipped,
) iter.Seq2[latest.Value, error] {
	m := q.Scope.Member()
	sensors, readings := cs.accounts.sensorsOf(m), cs.accounts.fleetOf(m.Device).Rows().Readings(ctx, q)
	return func(yield func(latest.Value, error) bool) {
		for r, err := range query.Readable(readings, skipped) {
			if err != nil {
				yield(latest.Value{}, err)
				return
			}
			*rows++
			sample, err := r.Sample(sensors)
			if err != nil {
				skipped.N++
			}
			for _, v := range sample.Values {
				if v.Sensor == sensor && !v.Doubtful && !yield(latest.Value{At: r.Time, SensorValue: v}, nil) {
					return
				}
			}
		}
	}
}

// sensorsOf returns what a device's rows mean to the pipeline that writes newest values.
func (as *Accounts) sensorsOf(m schema.Member) *fold.Sensors {
	return as.accountOf(m.Device).sensorsOf(m)
}

// models returns the meaning of all devices' rows. It is for one answer.
func (as *Accounts) models() *query.Models {
	units := as.Configured().units()
	return &query.Models{Of: func(m schema.Member) *query.Model {
		return &query.Model{Sensors: as.sensorsOf(m), Unit: units(as.accountOf(m.Device).modelOf(m)).Unit}
	}}
}

// unitOf returns the unit of a sensor of a device.
func (as *Accounts) unitOf(m schema.Member, sensor string) string {
	return as.Configured().unit(sensor, as.accountOf(m.Device).modelOf(m))
}

// pointsOf returns what of makes of windows. One window more than a series can have was asked for.
func pointsOf[B any](windows iter.Seq2[B, error], of func(B) Point) (found points, err error) {
	all, err := query.Collect(windows, &found.skipped)
	found.more = len(all) > maxPoints
	for _, b := range all[:min(len(all), maxPoints)] {
		found.all = append(found.all, of(b))
	}
	return found, err
}
