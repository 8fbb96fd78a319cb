package model

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/formats"
	"furrow/worker/query"
)

// A ReadingsQuery asks for the rows of a device.
type ReadingsQuery struct {
	Device   string
	From, To time.Time
	Newest   int      // rows, the newest first, instead of those of the span; 0: those of the span
	Sensors  []string // none: all; rows without any of them are left out
	After    string   // Next of the part before
	Limit    int

	// Asked is what determined From and To. They may be relative to now, so each part of an answer has the span of its
	// first.
	Asked string
}

// MaxNewest is the greatest Newest.
const MaxNewest = 1000

// Readings is the answer of /v1/devices/{id}/readings.
type Readings struct {
	Device string `json:"device"`
	Bounds
	Rows []Reading `json:"rows"`
	Extent
}

// A measured row is a row of a device with what its values mean.
type measured struct {
	device, row string
	time        time.Time
	values      []jobs.SensorValue
}

func (m *measured) Object() any {
	r := Reading{Device: m.device, Row: m.row, Time: m.time, Values: make(map[string]any, len(m.values))}
	for _, v := range m.values {
		if r.Values[v.Sensor] = v.Number; v.Is == jobs.State {
			r.Values[v.Sensor] = v.State
		}
	}
	return r
}

func measuredColumns() []formats.Column {
	return []formats.Column{{Name: "device"}, {Name: "time", Type: formats.Time}, {Name: "sensor"},
		{Name: "value", Type: formats.Number}, {Name: "text"}, {Name: "doubtful", Type: formats.Flag}, {Name: "row"}}
}

func (m *measured) Lines(line func([]formats.Cell)) {
	cells := [7]formats.Cell{0: formats.TextCell(m.device), 1: formats.TimeCell(m.time), 6: formats.TextCell(m.row)}
	for _, v := range m.values {
		cells[2], cells[5] = formats.TextCell(v.Sensor), formats.FlagCell(v.Doubtful)
		cells[3], cells[4] = valueCells(v)
		line(cells[:])
	}
}

// valueCells returns a value as a number or as a text.
func valueCells(v jobs.SensorValue) (number, text formats.Cell) {
	if v.Is == jobs.State {
		return formats.Cell{}, formats.TextCell(v.State)
	}
	return formats.NumberCell(v.Number), formats.Cell{}
}

// Readings returns rows that a device has written, as the pipelines understand them. Over all parts, each row of the
// span that exists throughout comes once.
func (s *Store) Readings(ctx context.Context, q ReadingsQuery) (Export, error) {
	o, read, err := s.owner(ctx, q.Device)
	if err != nil {
		return Export{}, err
	}
	if err := s.checkOwnSensors(q.Device, q.Sensors); err != nil {
		return Export{}, err
	}
	cursor := s.cursorFor("readings", within(ctx), q.Device, q.Asked)
	ask := query.Question{Scope: query.ScopeOf(o.member), Span: spanOf(q.From, q.To)}
	if q.After != "" {
		if ask.Span, ask.After, err = cursor.rows(q.After); err != nil {
			return Export{}, err
		}
	}
	out := &Readings{Device: q.Device, Rows: []Reading{},
		Extent: Extent{Operations: read.Operations}}
	if out.Limit = cmp.Or(q.Newest, q.Limit); q.Newest == 0 {
		from, to := ask.Span.From.Time(), ask.Span.To.Time()
		out.From, out.To = &from, &to
	}
	return Export{Bounds: &out.Bounds, Extent: &out.Extent, Whole: func() any { return out },
		Columns: measuredColumns(), Rows: s.measured(ctx, o.member, q, ask, cursor, &out.Extent)}, nil
}

func spanOf(from, to time.Time) query.Span {
	return query.Span{From: tables.TicksOf(from), To: tables.TicksOf(to)}
}

// measured yields the rows of a device, and counts them.
func (s *Store) measured(
	ctx context.Context, m schema.Member, q ReadingsQuery, ask query.Question, next cursor, out *Extent,
) iter.Seq2[formats.Row, error] {
	return func(yield func(formats.Row, error) bool) {
		ctx, meter := metered(ctx)
		before := out.Operations
		defer func() { out.Operations = before + int(meter.Load()) }()
		sensors, last := s.sensorsOf(m), ""
		for r, err := range s.rowsOf(ctx, q, ask) {
			if err != nil {
				yield(nil, err)
				return
			}
			if q.Newest == 0 && (out.Count == int64(q.Limit) || out.RowsRead == maxRead) {
				out.Next = next.textOfRow(ask.Span, last)
				return
			}
			out.RowsRead++
			last = r.Row
			sample, err := r.Sample(sensors)
			if err != nil {
				out.Unreadable++
				continue
			}
			row := &measured{string(m.Device), r.Row, r.Time.Time().UTC(), wanted(sample.Values, q.Sensors)}
			if len(q.Sensors) > 0 && len(row.values) == 0 {
				continue
			}
			if out.Count++; !yield(row, nil) {
				return
			}
		}
	}
}

func (s *Store) rowsOf(ctx context.Context, q ReadingsQuery, ask query.Question) iter.Seq2[query.Reading, error] {
	if q.Newest > 0 {
		ask.Limit = q.Newest
		return s.fleet.Tail(ctx, s.configured()[0].Name, ask) // any pipeline knows about where they are
	}
	if len(q.Sensors) == 0 {
		ask.Limit = q.Limit + 1 // to see whether there is more
	}
	return s.fleet.Readings(ctx, ask)
}

// wanted returns the values of some sensors, or all where none are named.
func wanted(values []jobs.SensorValue, sensors []string) []jobs.SensorValue {
	if len(sensors) == 0 {
		return values
	}
	return slices.DeleteFunc(values, func(v jobs.SensorValue) bool { return !slices.Contains(sensors, v.Sensor) })
}

// textOfRow returns the cursor to the rows of a span after one of them.
func (c cursor) textOfRow(span query.Span, row string) string {
	return c.text(span.From.String() + " " + span.To.String() + " " + row)
}

// rows returns the span and the row of a cursor.
func (c cursor) rows(text string) (span query.Span, after string, err error) {
	place, err := c.place(text)
	if err != nil {
		return span, "", err
	}
	from, rest, _ := strings.Cut(place, " ")
	to, after, _ := strings.Cut(rest, " ")
	if span.From, err = tables.ParseTicks(from); err == nil {
		span.To, err = tables.ParseTicks(to)
	}
	return span, after, err
}

// checkOwnSensors returns an error for a sensor that a device does not have. Any may exist where no newest values of
// the device are known.
func (s *Store) checkOwnSensors(id string, sensors []string) error {
	known := s.index.sensorsOf(id)
	for _, sensor := range sensors {
		if len(known) > 0 && len(known) < maxValues && !slices.Contains(known, sensor) {
			return unknownSensor(sensor, known)
		}
	}
	return nil
}

// sensorsOf returns the sensors of a device, by name, without rates.
func (x *index) sensorsOf(id string) (all []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, known := x.at[id]
	if !known {
		return nil
	}
	for _, v := range x.devices[i].values {
		if name := x.sensors.all[v.sensor]; !strings.HasSuffix(name, perHour) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
