package answers

import (
	"encoding/base64"
	"math"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/worker/query"
)

// A Reading is a row that a device has written.
type Reading struct {
	Device string `json:"device" column:"device"`
	// of the row key; absent where it has none
	Time   time.Time     `json:"time,omitzero" column:"time,exact"`
	Values BySensor[any] `json:"values" each:"sensor" column:"value,text"` // a number or a text by sensor
	// the sensors whose values are doubtful, as their quality says
	Doubtful BySensor[bool] `json:"doubtful,omitempty" each:"sensor" column:"doubtful"`
	Row      string         `json:"row" column:"row"` // RowKey
	// units of the values, where a model has them
	Units BySensor[string] `json:"units,omitempty" each:"sensor" column:"unit"`
}

// ReadingOf returns a reading with values as a model names and converts them.
func ReadingOf(r query.Reading, values []fold.SensorValue) Reading {
	out := Reading{Device: string(r.Device), Row: r.Row, Time: timeOfTicks(r.Time),
		Values: make(BySensor[any], 0, len(values))}
	for i := range values {
		v := &values[i]
		out.Values.set(v.Sensor, sensorValue(v))
		if v.Doubtful {
			out.Doubtful.set(v.Sensor, true)
		}
		out.setUnit(v.Sensor, r.Model.UnitOf(v.Sensor))
	}
	return out
}

// ReadingAsSent returns a reading with the values that its device sent. Units are of those that the model takes as
// they are.
func ReadingAsSent(r query.Reading) Reading {
	out := Reading{Device: string(r.Device), Row: r.Row, Time: timeOfTicks(r.Time),
		Values: make(BySensor[any], 0, len(r.Values))}
	for _, p := range r.Values {
		out.Values.set(p.Name, ValueOf(p.Value))
		out.setUnit(p.Name, r.Model.UnitAsSent(p.Name))
	}
	return out
}

func (r *Reading) setUnit(sensor, unit string) {
	if unit != "" {
		r.Units.set(sensor, unit)
	}
}

// timeOfTicks returns the time, which is not set for zero.
func timeOfTicks(t tables.Ticks) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Time()
}

// ValueOf returns a value in its own type where JSON has it. Bytes are base64, times are RFC 3339, and numbers that
// are not finite are texts, as in OData.
func ValueOf(v tables.Value) any {
	switch v.Type() {
	case tables.TypeBoolean:
		return v.Boolean()
	case tables.TypeInt32, tables.TypeInt64:
		return v.Int()
	case tables.TypeDouble:
		return finite(v.Float())
	case tables.TypeDateTime:
		return v.Ticks().Time().Format(exactTime)
	case tables.TypeBinary:
		return base64.StdEncoding.EncodeToString(v.Binary())
	}
	return v.Text()
}

func sensorValue(v *fold.SensorValue) any {
	if v.Is == fold.State {
		return v.State
	}
	return finite(v.Number)
}

// finite returns a number, or its text where JSON has none for it.
func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Number(f)
	}
	return f
}

// NewestValues are the newest values of a device.
type NewestValues struct {
	Device  string                `json:"device" column:"device"`
	Sensors BySensor[NewestValue] `json:"sensors" each:"sensor" behind:"time"` // by name
	// time of its newest reading, heartbeats included; absent where some sensors alone are asked for
	Heard time.Time `json:"heard,omitzero"`
	// since when it is silent by its stated interval; absent: it is not, or that is unknown
	OverdueSince time.Time `json:"overdueSince,omitzero"`
}

// A NewestValue is the newest one of a sensor.
type NewestValue struct {
	Time  time.Time `json:"time" column:"time,exact"`
	Value any       `json:"value" column:"value,text"` // a number or a text
	// the reading's quality was not good, or the value is out of the configured range
	Doubtful bool   `json:"doubtful,omitempty" column:"doubtful"`
	Unit     string `json:"unit,omitempty" column:"unit"`
}

// NewestOf returns the newest values of a device at a time.
func NewestOf(n query.Newest, now time.Time) NewestValues {
	out := NewestValues{Device: string(n.Device), Sensors: make(BySensor[NewestValue], 0, len(n.Values))}
	if n.Last > 0 {
		out.Heard, out.OverdueSince = n.Last.Time(), n.SilentSince(now)
	}
	for i := range n.Values {
		v := &n.Values[i]
		out.Sensors.set(v.Sensor, NewestValueOf(v.At, v.SensorValue, n.Model.UnitOf(v.Sensor)))
	}
	return out
}

// NewestValueOf returns the newest value of a sensor.
func NewestValueOf(at tables.Ticks, v fold.SensorValue, unit string) NewestValue {
	return NewestValue{Time: at.Time(), Value: sensorValue(&v), Doubtful: v.Doubtful, Unit: unit}
}

// A State is a time during which a sensor had one value in every reading.
type State struct {
	Device string    `json:"device" column:"device"`
	Sensor string    `json:"sensor" column:"sensor"`
	State  any       `json:"state" column:"state"`       // a text or a number
	Begin  time.Time `json:"begin" column:"begin,exact"` // time of the first reading of the span with it
	// time of the first reading with another; absent: it has not ended
	End      time.Time `json:"end,omitzero" column:"end,exact"`
	Seconds  float64   `json:"seconds" column:"seconds"`     // from begin to end, or to the end of the span
	Last     time.Time `json:"last" column:"last,exact"`     // time of the last reading with it
	Readings int64     `json:"readings" column:"readings"`   // that had it
	Unit     string    `json:"unit,omitempty" column:"unit"` // of a number
}

// StateOf returns a state. One that has not ended lasts until the end of the question's span, or until now.
func StateOf(s query.StateSpan, until tables.Ticks) State {
	end := s.To
	if end == 0 {
		end = max(until, s.Last)
	}
	return State{Device: string(s.Device), Sensor: s.Sensor, State: sensorValue(&s.Value), Begin: s.From.Time(),
		End: timeOfTicks(s.To), Seconds: query.Span{From: s.From, To: end}.Length().Seconds(), Last: s.Last.Time(),
		Readings: s.Readings, Unit: s.Model.UnitOf(s.Sensor)}
}

// A GapDay is what the numbers of a device's readings say about a day.
type GapDay struct {
	Device   string `json:"device" column:"device"`
	Day      string `json:"day" column:"day"`           // in UTC
	Readings int64  `json:"readings" column:"readings"` // readings that have a number
	// Numbers that no reading of the span has. Each counts for the day of the next number that one has.
	Missing  int64 `json:"missing" column:"missing"`
	Repeated int64 `json:"repeated" column:"repeated"` // readings whose number another one has
	// restarts of the device: boots that began, and numbers in a property that began again
	Resets int64 `json:"resets" column:"resets"`
	// readings after the greatest number of 16 or 32 bits
	Wraps int64  `json:"wraps" column:"wraps"`
	First uint64 `json:"first" column:"first"` // number of the first reading
	Last  uint64 `json:"last" column:"last"`   // number of the last reading
	// readings that were made, as far as numbers tell: readings less repeated, and missing
	Made       int64             `json:"made" column:"made"`
	ByKey      int64             `json:"byKey" column:"by_key"`          // readings that have the number in the row key
	Unnumbered int64             `json:"unnumbered" column:"unnumbered"` // readings without a number
	Gaps       []query.NumberGap `json:"gaps,omitempty"`                 // the first ten gaps of the day
	// there was too much to follow, so that the counts may be wrong
	Unsure bool `json:"unsure,omitempty" column:"unsure"`
}

// GapDayOf returns a day of a device.
func GapDayOf(d query.GapDay) GapDay {
	return GapDay{Device: string(d.Device), Day: d.Start.Time().Format(time.DateOnly), Readings: d.Readings,
		Missing: d.Missing, Repeated: d.Repeated, Resets: d.Restarts, Wraps: d.Wraps, First: d.First, Last: d.Last,
		Made: d.Made(), ByKey: d.ByKey, Unnumbered: d.Unnumbered, Gaps: d.NumberGaps(), Unsure: d.Unsure}
}
