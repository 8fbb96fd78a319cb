package api

import (
	"cmp"
	"math"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// A map without a zoom is taken to be fitPixels wide; at zoom 0 the world is worldPixels wide.
const (
	fitPixels   = 1024.0
	worldPixels = 256
)

// Map returns the query for a map. Without a zoom, the box fits the map.
func (p Params) Map() model.MapQuery {
	q := model.MapQuery{Box: model.World(), Sensor: p.Sensor, Filter: p.Filter}
	if p.Box != nil {
		q.Box = *p.Box
	}
	if p.Zoom != nil {
		q.Zoom = *p.Zoom
		return q
	}
	width := q.Box[2] - q.Box[0]
	if width < 0 {
		width += 360
	}
	q.Zoom = math.Log2(fitPixels / worldPixels * 360 / max(width, 2*(q.Box[3]-q.Box[1]), 1e-6))
	return q
}

// Series returns the query for a device's chart; by default of the last day.
func (p Params) Series(device string, now time.Time) model.SeriesQuery {
	q := model.SeriesQuery{Device: device, Sensor: p.Sensor, Window: p.Window}
	if q.To = now.Truncate(time.Second).Add(time.Second); p.To != nil { // requests within a second share an answer
		q.To = *p.To
	}
	q.From = tables.TicksOf(q.To.Add(-SpanOf(cmp.Or(p.Span, DefaultSpan)))).Time() // not before the year 1
	if p.From != nil {
		q.From = *p.From
	}
	return q
}

// hasSpan reports whether the request has a span of time.
func (p Params) hasSpan() bool { return p.From != nil || p.To != nil || p.Span != "" }

// defaultRows is the limit of an answer in JSON. Other formats are for whole spans.
const defaultRows = 1000

// Readings returns the query for the rows of a device; by default of the last day.
func (p Params) Readings(device string, f answers.Format, now time.Time) (model.ReadingsQuery, error) {
	q := model.ReadingsQuery{Device: device, Newest: p.Newest, Sensors: p.Sensors, Where: p.Where, After: p.After,
		Limit: p.limit(f), Asked: p.Asked}
	if p.Newest > 0 && (p.hasSpan() || p.Where != nil || p.After != "" ||
		p.Limit > 0) {
		return q, badRequest("newest cannot be combined with from, to, span, where, after or limit: leave them out.")
	}
	series := p.Series(device, now)
	q.From, q.To = series.From, series.To
	return q, nil
}

// Fleet returns the query about many devices; by default of the last day.
func (p Params) Fleet(f answers.Format, now time.Time) (model.FleetQuery, error) {
	series := p.Series("", now)
	q := model.FleetQuery{Filter: p.Filter, Prefix: p.Prefix, Devices: p.Devices, Sensors: p.Sensors, From: series.From,
		To: series.To, Window: p.Window, After: p.After, Limit: p.limit(f), Asked: p.Asked}
	if p.Window == model.WindowNewest && p.hasSpan() {
		return q, badRequest("window=newest cannot be combined with from, to or span: leave them out.")
	}
	return q, nil
}

// Reports returns the query for reports; by default of the last day.
func (p Params) Reports(f answers.Format, now time.Time) model.ReportsQuery {
	series := p.Series("", now)
	return model.ReportsQuery{Tenant: p.Tenant, By: p.By, Site: p.Site, Label: p.Label, Sensors: p.Sensors,
		From: series.From, To: series.To, Window: p.Window, After: p.After, Limit: p.limit(f), Asked: p.Asked}
}

// Summary returns the query for a tenant's day, week or month; by default of today.
func (p Params) Summary(tenant string, now time.Time) model.SummaryQuery {
	day := p.DayOf(tenant, now)
	return model.SummaryQuery{Tenant: tenant, Sensor: day.Sensor, By: p.By, Period: p.Period, Day: day.Day}
}

// Outliers returns the query for devices that stand out.
func (p Params) Outliers() model.OutlierQuery {
	return model.OutlierQuery{Filter: p.Filter, By: p.By, Limit: cmp.Or(p.Limit, model.DefaultListed)}
}

// Costs returns the query for what tenants cost in a month; by default of this one.
func (p Params) Costs(now time.Time) model.CostQuery {
	return model.CostQuery{Tenant: p.Tenant, Month: p.monthOf(now), Window: p.Window}
}

// Completeness returns the query for what samples have counted in a month; by default in this one.
func (p Params) Completeness(now time.Time) model.CompletenessQuery {
	return model.CompletenessQuery{Tenant: p.Tenant, Month: p.monthOf(now)}
}

func (p Params) monthOf(now time.Time) time.Time {
	if p.Month != nil {
		return *p.Month
	}
	return now.UTC()
}

// Archive returns the query for what the archive has of a tenant; by default of its newest days.
func (p Params) Archive() model.ArchiveQuery {
	return model.ArchiveQuery{Tenant: p.Tenant, From: p.From, To: p.To}
}

// ArchiveFiles returns the query for the files of a table; without days, of all.
func (p Params) ArchiveFiles(f answers.Format) model.ArchiveFilesQuery {
	return model.ArchiveFilesQuery{ArchiveQuery: p.Archive(), Table: p.Table, After: p.After, Limit: p.limit(f),
		Asked: p.Asked}
}

// Incidents returns the query for incidents; without a time, of all that are kept.
func (p Params) Incidents(f answers.Format, now time.Time) model.IncidentQuery {
	q := model.IncidentQuery{Filter: p.Filter, Rule: p.Rule, Device: p.Device, Severity: p.Severity,
		States: p.States, After: p.After, Limit: p.limit(f), Asked: p.Asked}
	if p.hasSpan() {
		series := p.Series("", now)
		q.From, q.To = &series.From, &series.To
	}
	return q
}

// limit returns how many rows an answer may have.
func (p Params) limit(f answers.Format) int {
	most := model.MaxRows
	if f == answers.JSON {
		most = defaultRows
	}
	return cmp.Or(p.Limit, most)
}

// DayOf returns the query for a tenant's day; by default today.
func (p Params) DayOf(tenant string, now time.Time) model.DayQuery {
	q := model.DayQuery{Tenant: tenant, Sensor: p.Sensor, Day: schema.DayOf(tables.TicksOf(now))}
	if p.Day != nil {
		q.Day = *p.Day
	}
	return q
}
