package model

import (
	"context"
	"encoding/json"

	"furrow/worker/dashboard/formats"
)

// A listedRow is a device in a list, and what it shows.
type listedRow struct {
	Row
	sensor, unit string
}

func (r *listedRow) Object() any { return r.Row }

func listedColumns() []formats.Column {
	return []formats.Column{{Name: "device"}, {Name: "state"}, {Name: "sensor"}, {Name: "unit"},
		{Name: "value", Type: formats.Number}, {Name: "text"}, {Name: "time", Type: formats.Time}, {Name: "tenant"},
		{Name: "site"}, {Name: "model"}, {Name: "labels"}, {Name: "lat", Type: formats.Number},
		{Name: "lon", Type: formats.Number}, {Name: "month"}}
}

func (r *listedRow) Lines(line func([]formats.Cell)) {
	cells := [14]formats.Cell{0: formats.TextCell(r.Device), 1: formats.TextCell(string(r.State)),
		2: formats.OptionalText(r.sensor), 3: formats.OptionalText(r.unit), 7: formats.TextCell(r.Tenant),
		8: formats.OptionalText(r.Site), 9: formats.OptionalText(r.Model), 13: formats.TextCell(r.Month)}
	switch v := r.Value.(type) {
	case float64:
		cells[4] = formats.NumberCell(v)
	case string:
		cells[5] = formats.TextCell(v)
	}
	if r.Time != nil {
		cells[6] = formats.TimeCell(*r.Time)
	}
	if len(r.Labels) > 0 {
		text, _ := json.Marshal(r.Labels) // texts can always be encoded
		cells[10] = formats.TextCell(string(text))
	}
	if r.Lat != nil {
		cells[11], cells[12] = formats.NumberCell(*r.Lat), formats.NumberCell(*r.Lon)
	}
	line(cells[:])
}

// listedAtOnce is how many devices are looked up at a time for an Export.
const listedAtOnce = 10_000

// Listed returns the devices of a list as rows.
func (s *Store) Listed(ctx context.Context, q ListQuery) (Export, error) {
	limit := q.Limit
	q.Limit = min(limit, listedAtOnce)
	list, read, err := s.Devices(ctx, q)
	if err != nil {
		return Export{}, err
	}
	q.Tenant, q.Sensor = scoped(ctx, q.Tenant), list.Sensor
	out := &Extent{Operations: read.Operations}
	rows := func(yield func(formats.Row, error) bool) {
		for err == nil {
			for _, row := range list.Devices {
				if out.Count++; !yield(&listedRow{row, list.Sensor, list.Unit}, nil) {
					return
				}
			}
			out.Next = list.Next
			q.After, q.Limit = list.Next, min(limit-int(out.Count), listedAtOnce)
			if q.After == "" || q.Limit == 0 {
				return
			}
			if err = ctx.Err(); err == nil {
				if q.Filter, err = s.decide(ctx, q.Filter); err == nil {
					list, err = s.list(q)
				}
			}
		}
		yield(nil, err)
	}
	return Export{Bounds: &Bounds{Limit: limit}, Extent: out, Whole: func() any { return list }, Columns: listedColumns(),
		Rows: rows}, nil
}
