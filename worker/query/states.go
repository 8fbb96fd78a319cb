package query

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A StateSpan is a time during which a sensor had one value in every reading.
type StateSpan struct {
	Device   schema.DeviceID
	Sensor   string
	Value    fold.SensorValue
	From     tables.Ticks // of the first reading with it
	To       tables.Ticks // of the first reading with another value; zero: it held until the end of the question's span
	Last     tables.Ticks // of the last reading with it
	Readings int64
	Model    *Model // of the device; nil: unknown
}

// ErrManySensors means that a device has more sensors with states than a history can follow.
var ErrManySensors = fmt.Errorf("it has more than %d sensors with states: name the sensors to follow", fold.MaxSensors)

// States yields the states of sensors within the span, from raw readings: device after device, each when it ends, and
// at last those that hold until the end of the span. A state is a text, or any value of a sensor that the question
// names.
// Readings without the sensor, and doubtful ones, change nothing. The question has no condition.
func (f Rows) States(ctx context.Context, q Question) iter.Seq2[StateSpan, error] {
	limit, named := q.Limit, q.Sensors
	q.Limit, q.Sensors = 0, nil // of rows
	spans := func(m schema.Member) source[StateSpan] {
		return func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[StateSpan, error] {
			h := history{named: named, model: q.Models.modelOf(m), open: map[string]*StateSpan{}}
			return h.spans(f.readingsOf(q, m)(ctx, afterPage))
		}
	}
	return Limited(inOrder(ctx, Mapped(Devices(f).selectedMembers(ctx, q), spans), true), limit)
}

// A history follows the sensors of one device.
type history struct {
	named []string // sensors; none: all that have texts
	model *Model
	open  map[string]*StateSpan
}

func (h *history) spans(readings iter.Seq2[Reading, error]) iter.Seq2[StateSpan, error] {
	var sensors fold.Sensors
	if h.model != nil && h.model.Sensors != nil {
		sensors = *h.model.Sensors
	}
	return func(yield func(StateSpan, error) bool) {
		if !each(readings, yield, func(r Reading) bool {
			sample, err := r.Sample(&sensors)
			if err != nil {
				return true // no fold takes it either
			}
			for _, v := range sample.Values {
				if !h.addReading(r, v, yield) {
					return false
				}
			}
			return true
		}) {
			return
		}
		for _, sensor := range slices.Sorted(maps.Keys(h.open)) {
			if !yield(*h.open[sensor], nil) {
				return
			}
		}
	}
}

// addReading takes the value of a reading, and yields the state that it ends.
func (h *history) addReading(r Reading, v fold.SensorValue, yield func(StateSpan, error) bool) bool {
	if v.Doubtful || len(h.named) > 0 && !slices.Contains(h.named, v.Sensor) {
		return true
	}
	open := h.open[v.Sensor]
	if open != nil && open.Value == v {
		open.Last = r.Time
		open.Readings++
		return true
	}
	if open != nil {
		open.To = r.Time
		delete(h.open, v.Sensor)
		if !yield(*open, nil) {
			return false
		}
	}
	if v.Is != fold.State && len(h.named) == 0 {
		return true
	}
	if len(h.open) == fold.MaxSensors {
		return yield(StateSpan{}, fmt.Errorf("device %s: %w", r.Device, ErrManySensors))
	}
	h.open[v.Sensor] = &StateSpan{Device: r.Device, Sensor: v.Sensor, Value: v, From: r.Time, Last: r.Time, Readings: 1,
		Model: h.model}
	return true
}
