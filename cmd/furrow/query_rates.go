package main

import (
	"furrow/cmd/internal/records"
	"furrow/jobs/rate"
	"furrow/worker/query"
)

// The answers of query --rate as they are printed.
type (
	newestRatesRecord query.NewestRates
	rateRecord        query.RateBucket
)

func newestRatesRecordOf(n query.NewestRates) newestRatesRecord { return newestRatesRecord(n) }
func rateRecordOf(b query.RateBucket) rateRecord                { return rateRecord(b) }

func (newestRatesRecord) Columns() []string {
	return []string{"device", "time", "sensor", "value", "difference", "per_hour", "span_difference", "span_per_hour",
		"lat", "lon", "unit"}
}

func (n newestRatesRecord) Lines() (lines [][]any) {
	for _, r := range n.Values {
		line := []any{string(n.Device), records.Moment(r.At), r.Sensor, r.Value, r.Step.Difference, r.Step.PerHour, "", ""}
		if r.Span != nil {
			line[6], line[7] = r.Span.Difference, r.Span.PerHour
		}
		lines = append(lines, append(append(line, degrees(r.Position)...), n.Model.UnitOf(r.Sensor)))
	}
	return lines
}

func degrees(p *rate.Position) []any {
	if p == nil {
		return []any{"", ""}
	}
	return []any{p.Lat, p.Lon}
}

type positionJSON struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

func (n newestRatesRecord) Object() any {
	type change struct {
		Difference float64 `json:"difference"`
		PerHour    float64 `json:"perHour"`
	}
	type newest struct {
		Time  string  `json:"time"`
		Value float64 `json:"value"`
		change
		Span     *change       `json:"span,omitempty"`     // since the start of the configured span
		Position *positionJSON `json:"position,omitempty"` // if readings tell it
		Unit     string        `json:"unit,omitempty"`     // of the value and the differences
	}
	sensors := map[string]newest{}
	for _, r := range n.Values {
		sensors[r.Sensor] = newest{records.Moment(r.At).String(), r.Value, change(r.Step), (*change)(r.Span),
			(*positionJSON)(r.Position), n.Model.UnitOf(r.Sensor)}
	}
	return struct {
		Device  string            `json:"device"`
		Sensors map[string]newest `json:"sensors"`
	}{string(n.Device), sensors}
}

func (rateRecord) Columns() []string {
	return []string{"device", "time", "sensor", "count", "difference", "hours", "min", "max", "last", "mean", "lat", "lon",
		"unit", "tenant"}
}

func (b rateRecord) Lines() (lines [][]any) {
	for _, t := range b.Sensors {
		line := []any{string(b.Device), records.Second(b.Start), t.Sensor, t.Count, t.Difference, rate.Hours(t.Over),
			t.Min, t.Max, t.Last, t.Mean()}
		lines = append(lines, append(append(line, degrees(t.Position)...), b.Model.UnitOf(t.Sensor),
			string(b.Tenant)))
	}
	return lines
}

func (b rateRecord) Object() any {
	type tally struct {
		Count      int64         `json:"count"`      // differences between successive readings
		Difference float64       `json:"difference"` // their sum
		Hours      float64       `json:"hours"`      // that they cover
		Min        float64       `json:"min"`        // change per hour
		Max        float64       `json:"max"`
		Last       float64       `json:"last"`
		Mean       float64       `json:"mean"`
		Position   *positionJSON `json:"position,omitempty"` // if readings tell it
		Unit       string        `json:"unit,omitempty"`     // of the differences
	}
	sensors := map[string]tally{}
	for _, t := range b.Sensors {
		sensors[t.Sensor] = tally{t.Count, t.Difference, rate.Hours(t.Over), t.Min, t.Max, t.Last, t.Mean(),
			(*positionJSON)(t.Position), b.Model.UnitOf(t.Sensor)}
	}
	return struct {
		Device  string           `json:"device"`
		Window  string           `json:"window"`
		Time    string           `json:"time"`
		Tenant  string           `json:"tenant"` // that the device belonged to then
		Sensors map[string]tally `json:"sensors"`
	}{string(b.Device), b.Window.String(), records.Second(b.Start).String(), string(b.Tenant), sensors}
}
