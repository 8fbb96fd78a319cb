package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// A Rate is how fast a sensor of a device changes.
type Rate struct {
	Sensor string `json:"sensor"`
	answers.NewestRate
	AgeSeconds float64 `json:"ageSeconds"`
}

// perHour ends the names under which maps, lists and charts have the rates of sensors. No
// sensor's own name has a slash.
const perHour = "/h"

// Rated returns the sensor whose rate has this name, and whether the name is one of a rate.
func Rated(name string) (sensor string, is bool) { return strings.CutSuffix(name, perHour) }

// ratePart is added to the number of a row of rates, which no row of newest values has then.
const ratePart = 1 << 7

// rateValues returns rates as values of sensors of their own: those over the span, and
// to the reading before where there is none.
func rateValues(rows []query.NewestRates) (all []query.Newest) {
	for _, row := range rows {
		n := query.Newest{Device: row.Device, Part: ratePart + row.Part}
		for _, r := range row.Values {
			v := fold.SensorValue{Sensor: r.Sensor + perHour, Is: fold.Number, Number: r.Step.PerHour}
			if r.Span != nil {
				v.Number = r.Span.PerHour
			}
			n.Values = append(n.Values, latest.Value{At: r.At, SensorValue: v})
		}
		slices.SortFunc(n.Values, func(a, b latest.Value) int { return strings.Compare(a.Sensor, b.Sensor) }) // a-b/h, a/h
		all = append(all, n)
	}
	return all
}

// ratesOf reads the newest rates of a device.
func (ds *Devices) ratesOf(ctx context.Context, m schema.Member, skipped *query.Skipped) ([]query.Rate, error) {
	if !ds.accounts.Configured().Writes(rate.Table) {
		return nil, nil
	}
	outputs := ds.accounts.fleetOf(m.Device).Outputs()
	all, err := query.Collect(outputs.NewestRates(ctx, query.Question{Scope: query.ScopeOf(m)}), skipped)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Values, nil
}

func (ds *Devices) newestRate(m schema.Member, r query.Rate, now time.Time) Rate {
	unit := ds.accounts.unitOf(m, r.Sensor)
	return Rate{r.Sensor, answers.NewestRateOf(r, unit), max(0, now.Sub(r.At.Time())).Seconds()}
}

// ratePoint returns the rates of a sensor in a window.
func ratePoint(b query.RateBucket) Point {
	t := b.Sensors[0]
	return Point{Time: b.Start.Time(), Count: t.Count, Min: &t.Min, Max: &t.Max, Mean: new(t.Mean()), Last: &t.Last}
}
