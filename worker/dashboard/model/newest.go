package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/worker/dashboard/formats"
)

// WindowNewest asks a FleetQuery for the newest values instead of windows.
const WindowNewest = "newest"

// Newest is the answer of /v1/query for the newest values, by device.
type Newest struct {
	Bounds
	Rows []NewestValues `json:"rows"`
	Extent
}

// NewestValues are the newest values of a device.
type NewestValues struct {
	Device  string                 `json:"device"`
	Sensors map[string]NewestValue `json:"sensors"`
}

// A NewestValue is the newest one of a sensor.
type NewestValue struct {
	Time     time.Time `json:"time"`
	Value    any       `json:"value"` // a float64 or a string
	Doubtful bool      `json:"doubtful,omitempty"`
}

// A newestRow has the newest values of a device, by sensor.
type newestRow struct {
	device string
	values []fold.SensorValue
	times  []time.Time
}

func (n *newestRow) Object() any {
	r := NewestValues{Device: n.device, Sensors: make(map[string]NewestValue, len(n.values))}
	for i, v := range n.values {
		value := NewestValue{Time: n.times[i], Value: v.Number, Doubtful: v.Doubtful}
		if v.Is == fold.State {
			value.Value = v.State
		}
		r.Sensors[v.Sensor] = value
	}
	return r
}

func newestColumns() []formats.Column {
	return []formats.Column{{Name: "device"}, {Name: "time", Type: formats.Time}, {Name: "sensor"},
		{Name: "value", Type: formats.Number}, {Name: "text"}, {Name: "doubtful", Type: formats.Flag}}
}

func (n *newestRow) Lines(line func([]formats.Cell)) {
	cells := [6]formats.Cell{0: formats.TextCell(n.device)}
	for i, v := range n.values {
		cells[1], cells[2], cells[5] = formats.TimeCell(n.times[i]), formats.TextCell(v.Sensor), formats.FlagCell(v.Doubtful)
		cells[3], cells[4] = valueCells(v)
		line(cells[:])
	}
}

// Newest returns the newest values of devices. It takes no storage operations of its own. Over all parts, each device
// comes once that is selected throughout.
func (s *Store) Newest(ctx context.Context, q FleetQuery) (Export, error) {
	read, err := s.polled(ctx)
	if err != nil {
		return Export{}, err
	}
	q.Tenant = scoped(ctx, q.Tenant)
	if err := s.checkFilter(q.Filter, q.Sensors...); err != nil {
		return Export{}, err
	}
	cursor, after := s.cursorFor("newest", within(ctx), q.Asked), ""
	if q.After != "" {
		if after, err = cursor.place(q.After); err != nil {
			return Export{}, err
		}
	}
	homes, err := s.selectedHomes(ctx, q, 0, false)
	if err != nil {
		return Export{}, err
	}
	var ids []string
	for _, h := range homes {
		ids = append(ids, h.ids...)
	}
	slices.Sort(ids)
	at, found := slices.BinarySearch(ids, after)
	if found {
		at++
	}
	out := &Newest{Bounds: Bounds{Limit: q.Limit}, Rows: []NewestValues{}, Extent: Extent{Operations: read.Operations}}
	return Export{Bounds: &out.Bounds, Extent: &out.Extent, Whole: func() any { return out }, Columns: newestColumns(),
		Rows: func(yield func(formats.Row, error) bool) {
			for _, id := range ids[at:] {
				row := s.index.newestOf(id, q.Sensors)
				if len(row.values) == 0 {
					continue
				}
				if out.Count == int64(q.Limit) {
					out.Next = cursor.text(after)
					return
				}
				out.RowsRead, out.Count, after = out.RowsRead+1, out.Count+1, id
				if !yield(row, nil) {
					return
				}
			}
		}}, nil
}

// newestOf returns the newest values of some sensors of a device, or of all.
func (x *index) newestOf(id string, sensors []string) *newestRow {
	x.mu.RLock()
	defer x.mu.RUnlock()
	d := &x.devices[x.at[id]]
	row := &newestRow{device: id}
	values := slices.Clone(d.values)
	slices.SortFunc(values, func(a, b value) int {
		return strings.Compare(x.sensors.all[a.sensor], x.sensors.all[b.sensor])
	})
	for _, v := range values {
		name := x.sensors.all[v.sensor]
		if len(sensors) > 0 && !slices.Contains(sensors, name) {
			continue
		}
		row.values = append(row.values, x.measured(v))
		row.times = append(row.times, time.Unix(int64(v.time), 0).UTC())
	}
	return row
}

// measured returns a value as it was measured. The lock is held.
func (x *index) measured(v value) fold.SensorValue {
	m := fold.SensorValue{Sensor: x.sensors.all[v.sensor], Is: fold.Number, Number: v.number,
		Doubtful: v.flags&isDoubtful != 0}
	if v.flags&isText != 0 {
		m.Is, m.State, m.Number = fold.State, x.texts.text(uint32(v.number)), 0
	}
	return m
}
