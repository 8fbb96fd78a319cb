package main

import (
	"iter"

	"furrow/cmd/internal/records"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/worker/query"
)

// Records that query and rejects print. In a table and in CSV, each sensor has a line. Scripts rely on the JSON:
// members may be added, but none changes.
type (
	readingRecord query.Reading
	bucketRecord  query.Bucket
	newestRecord  query.Newest
	rejectRecord  query.Reject
	reasonRecord  query.Reason
)

// printed converts what a read yields into records.
func printed[T any, R records.Record](found iter.Seq2[T, error], record func(T) R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for t, err := range found {
			if !yield(record(t), err) {
				return
			}
		}
	}
}

func readingRecordOf(r query.Reading) readingRecord { return readingRecord(r) }
func bucketRecordOf(b query.Bucket) bucketRecord    { return bucketRecord(b) }
func newestRecordOf(n query.Newest) newestRecord    { return newestRecord(n) }
func rejectRecordOf(r query.Reject) rejectRecord    { return rejectRecord(r) }
func reasonRecordOf(r query.Reason) reasonRecord    { return reasonRecord(r) }

func (readingRecord) Columns() []string {
	return []string{"device", "time", "sensor", "value", "row", "unit"}
}

func (r readingRecord) Lines() (lines [][]any) {
	for _, p := range r.Values {
		lines = append(lines, []any{string(r.Device), records.Moment(r.Time), p.Name, p.Value, r.Row,
			r.Model.UnitAsSent(p.Name)})
	}
	return lines
}

func (r readingRecord) Object() any {
	values, units := map[string]any{}, map[string]string{}
	for _, p := range r.Values {
		values[p.Name] = records.JSON(p.Value)
		if unit := r.Model.UnitAsSent(p.Name); unit != "" {
			units[p.Name] = unit
		}
	}
	return struct {
		Device string            `json:"device"`
		Row    string            `json:"row"`
		Time   string            `json:"time,omitempty"`
		Values map[string]any    `json:"values"`
		Units  map[string]string `json:"units,omitempty"` // of values that the model takes as they are
	}{string(r.Device), r.Row, records.Moment(r.Time).String(), values, units}
}

func (bucketRecord) Columns() []string {
	return []string{"device", "time", "sensor", "count", "sum", "min", "max", "first", "last", "mean", "unit", "tenant"}
}

func (b bucketRecord) Lines() (lines [][]any) {
	for _, a := range b.Sensors {
		lines = append(lines, []any{string(b.Device), records.Second(b.Start), a.Sensor, a.Count, a.Sum, a.Min, a.Max,
			a.First, a.Last, a.Mean(), b.Model.UnitOf(a.Sensor), string(b.Tenant)})
	}
	return lines
}

func (b bucketRecord) Object() any {
	type aggregate struct {
		Count int64   `json:"count"`
		Sum   float64 `json:"sum"`
		Min   float64 `json:"min"`
		Max   float64 `json:"max"`
		First float64 `json:"first"`
		Last  float64 `json:"last"`
		Mean  float64 `json:"mean"`
		Unit  string  `json:"unit,omitempty"`
	}
	sensors := map[string]aggregate{}
	for _, a := range b.Sensors {
		sensors[a.Sensor] = aggregate{a.Count, a.Sum, a.Min, a.Max, a.First, a.Last, a.Mean(), b.Model.UnitOf(a.Sensor)}
	}
	return struct {
		Device  string               `json:"device"`
		Window  string               `json:"window"`
		Time    string               `json:"time"`
		Tenant  string               `json:"tenant"` // that the device belonged to then
		Sensors map[string]aggregate `json:"sensors"`
	}{string(b.Device), b.Window.String(), records.Second(b.Start).String(), string(b.Tenant), sensors}
}

func (newestRecord) Columns() []string {
	return []string{"device", "time", "sensor", "value", "doubtful", "unit"}
}

func (n newestRecord) Lines() (lines [][]any) {
	for _, v := range n.Values {
		lines = append(lines, []any{string(n.Device), records.Moment(v.At), v.Sensor, newestValue(v), v.Doubtful,
			n.Model.UnitOf(v.Sensor)})
	}
	return lines
}

func newestValue(v latest.Value) any { return sensorValue(v.SensorValue) }

func sensorValue(v fold.SensorValue) any {
	if v.Is == fold.State {
		return v.State
	}
	return v.Number
}

func (n newestRecord) Object() any {
	type value struct {
		Time     string `json:"time"`
		Value    any    `json:"value"`
		Doubtful bool   `json:"doubtful,omitzero"`
		Unit     string `json:"unit,omitempty"`
	}
	sensors := map[string]value{}
	for _, v := range n.Values {
		sensors[v.Sensor] = value{records.Moment(v.At).String(), newestValue(v), v.Doubtful, n.Model.UnitOf(v.Sensor)}
	}
	return struct {
		Device  string           `json:"device"`
		Sensors map[string]value `json:"sensors"`
	}{string(n.Device), sensors}
}

func (rejectRecord) Columns() []string {
	return []string{"device", "time", "row", "sensor", "value", "reason", "rejected", "pipeline", "number", "total",
		"reading"}
}

func (r rejectRecord) Lines() [][]any {
	return [][]any{{string(r.Device), records.Moment(r.Time), r.Row, r.Sensor, r.Value, r.Reason, records.Second(r.At),
		string(r.Pipeline), r.Number + 1, r.Total, r.Reading}}
}

func (r rejectRecord) Object() any {
	return struct {
		Device   string `json:"device"`
		Row      string `json:"row"`
		Time     string `json:"time,omitempty"`
		Sensor   string `json:"sensor,omitempty"`
		Value    string `json:"value,omitempty"`
		Reason   string `json:"reason"`
		Reading  string `json:"reading"`
		Rejected string `json:"rejected"`
		Pipeline string `json:"pipeline"`
		Number   int64  `json:"number"`
		Total    int64  `json:"total"`
	}{string(r.Device), r.Row, records.Moment(r.Time).String(), r.Sensor, r.Value, r.Reason, r.Reading,
		records.Second(r.At).String(), string(r.Pipeline), r.Number + 1, r.Total}
}

func (reasonRecord) Columns() []string { return []string{"count", "reason", "sensor", "device", "row"} }

func (r reasonRecord) Lines() [][]any {
	return [][]any{{r.Count, r.Reason, r.Sensor, string(r.Device), r.Row}}
}

func (r reasonRecord) Object() any {
	return struct {
		Count  int64  `json:"count"`
		Reason string `json:"reason"`
		Sensor string `json:"sensor,omitempty"`
		Device string `json:"device"`
		Row    string `json:"row"`
	}{r.Count, r.Reason, r.Sensor, string(r.Device), r.Row}
}
