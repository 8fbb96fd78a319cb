package model

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// WindowNewest asks a FleetQuery for the newest values instead of windows.
const WindowNewest = "newest"

// Newest is the answer of /v1/query for the newest values, by device.
type Newest struct {
	Bounds
	Rows []answers.NewestValues `json:"rows"`
	Extent
}

// Newest returns the newest values of devices. It takes no storage operations of its own. Over all parts, each device
// comes once that is selected throughout.
func (fr *FleetRows) Newest(ctx context.Context, q FleetQuery) (Export, error) {
	var err error
	if q.Tenant, err = fr.accounts.tenantFor(ctx, q.Tenant); err != nil {
		return Export{}, err
	}
	if err := fr.sensors.checkFilter(q.Filter, q.Sensors...); err != nil {
		return Export{}, err
	}
	cursor := fr.accounts.cursorFor("newest", within(ctx), q.Asked)
	after, err := cursor.place(q.After)
	if err != nil {
		return Export{}, err
	}
	homes, err := fr.selectedHomes(ctx, q, 0, false)
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
	out := &Newest{Bounds: Bounds{Limit: q.Limit}, Rows: []answers.NewestValues{}}
	return paging[query.Newest, answers.NewestValues]{records: fr.newest(ids[at:], q.Sensors),
		row: func(n query.Newest) (answers.NewestValues, bool, error) {
			out.RowsRead++
			return answers.NewestOf(n, fr.accounts.folded()), true, nil
		},
		next: func(last query.Newest) string { return cursor.text(string(last.Device)) }}.export(out), nil
}

// newest yields the newest values of devices that have some, or were heard where all sensors are asked for.
func (fr *FleetRows) newest(ids, sensors []string) iter.Seq2[query.Newest, error] {
	return func(yield func(query.Newest, error) bool) {
		units := fr.accounts.Configured().units()
		for _, id := range ids {
			newest := fr.newestOf(id, sensors)
			newest.Model = units(fr.accounts.index.modelOf(id))
			if (len(newest.Values) > 0 || newest.Last > 0) && !yield(newest, nil) {
				return
			}
		}
	}
}

// newestOf returns the newest values of some sensors of a device, or of all.
func (fr *FleetRows) newestOf(id string, sensors []string) query.Newest {
	x := fr.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	d := &x.devices[x.at[id]]
	row := query.Newest{Device: schema.DeviceID(id), Every: time.Duration(d.every) * time.Second}
	if d.newest > 0 && len(sensors) == 0 {
		row.Last = tables.TicksOf(time.Unix(int64(d.newest), 0))
	}
	values := slices.Clone(d.values)
	slices.SortFunc(values, func(a, b value) int {
		return strings.Compare(x.sensors.all[a.sensor], x.sensors.all[b.sensor])
	})
	for _, v := range values {
		name := x.sensors.all[v.sensor]
		if len(sensors) > 0 && !slices.Contains(sensors, name) {
			continue
		}
		at := tables.TicksOf(time.Unix(int64(v.time), 0))
		row.Values = append(row.Values, latest.Value{At: at, SensorValue: x.measured(v)})
	}
	return row
}

// measured returns a value as it was measured.
func (x *roster) measured(v value) fold.SensorValue {
	m := fold.SensorValue{Sensor: x.sensors.all[v.sensor], Is: fold.Number, Number: v.number,
		Doubtful: v.flags&isDoubtful != 0}
	if v.flags&isText != 0 {
		m.Is, m.State, m.Number = fold.State, x.texts.text(uint32(v.number)), 0
	}
	return m
}
