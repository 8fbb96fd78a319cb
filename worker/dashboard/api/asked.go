package api

import (
	"cmp"
	"math"
	"time"

	"furrow/tables"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// None is of addresses without parameters.
type None struct{}

// OfTenant is of addresses that can be asked about one tenant.
type OfTenant struct {
	Tenant string `query:"tenant"`
}

// Times are a span of time. They are pointers: the zero time can be given.
type Times struct {
	From *time.Time `query:"from"`
	To   *time.Time `query:"to"`
}

// Within is a span of time that may end now.
type Within struct {
	Times
	Span string `query:"span"`
}

// given reports whether the request has a span of time.
func (s Within) given() bool { return s.From != nil || s.To != nil || s.Span != "" }

// times returns the span of a request; by default the last day.
func (s Within) times(now time.Time) (from, to time.Time) {
	if to = now.Truncate(time.Second).Add(time.Second); s.To != nil { // requests within a second share an answer
		to = *s.To
	}
	if s.From != nil {
		return *s.From, to
	}
	return tables.TicksOf(to.Add(-SpanOf(cmp.Or(s.Span, DefaultSpan)))).Time(), to // not before the year 1
}

// A Page is a part of a list, for people.
type Page struct {
	After string `query:"after"`
	Limit int    `query:"limit,page"`
	Asked string // what determines the answer, without limit, after and format
}

// A Form is that of a long answer.
type Form struct {
	Format answers.Format `query:"format"` // empty: as the Accept header says
}

func (f Form) form() answers.Format { return f.Format }

// defaultRows is the limit of an answer in JSON. Other formats are for whole spans.
const defaultRows = 1000

// limit returns how many rows an answer may have.
func limit(asked int, f answers.Format) int {
	most := model.MaxRows
	if f == answers.JSON {
		most = defaultRows
	}
	return cmp.Or(asked, most)
}

// A Map is the parameters of a map.
type Map struct {
	model.Filter
	Box    *model.Box `query:"bbox"`
	Zoom   *float64   `query:"zoom"`
	Sensor string     `query:"sensor"`
}

// A map without a zoom is taken to be fitPixels wide; at zoom 0 the world is worldPixels wide.
const (
	fitPixels   = 1024.0
	worldPixels = 256
)

// Query returns the query for a map. Without a zoom, the box fits the map.
func (p Map) Query() model.MapQuery {
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

// A List is the parameters of a list of devices.
type List struct {
	Map
	Prefix string `query:"prefix"`
	Sort   string `query:"sort"`
}

// Query returns the query for a part of the list.
func (p List) Query(after string, limit int) model.ListQuery {
	return model.ListQuery{Filter: p.Filter, Prefix: p.Prefix, Box: p.Box, Sensor: p.Sensor, Sort: p.Sort, After: after,
		Limit: limit}
}

// devices is the parameters of a list in any format.
type devices struct {
	List
	model.Part
	Form
}

// A Chart is the parameters of a device's chart.
type Chart struct {
	Sensor string `query:"sensor"`
	Within
	Window string `query:"window"`
}

// Series returns the query for a device's chart; by default of the last day.
func (p Chart) Series(device string, now time.Time) model.SeriesQuery {
	from, to := p.times(now)
	return model.SeriesQuery{Device: device, Sensor: p.Sensor, Window: p.Window, From: from, To: to}
}

// A Compared chart has others drawn over it.
type Compared struct {
	Chart
	With    []string `query:"with"`    // other sensors
	Against string   `query:"against"` // another device
}

// gaps is the parameters of the gaps of a device.
type gaps struct {
	Within
	Form
}

// readings is the parameters of the rows of a device.
type readings struct {
	model.ReadingsQuery
	Within
	Form
}

// query returns the query for the rows of a device; by default of the last day.
func (p readings) query(device string, f answers.Format, now time.Time) (model.ReadingsQuery, error) {
	q := p.ReadingsQuery
	q.Device, q.Limit = device, limit(q.Limit, f)
	if p.Newest > 0 && (p.given() || p.Where != nil || p.After != "" || p.Limit > 0) {
		return q, badRequest("newest cannot be combined with from, to, span, where, after or limit: leave them out.")
	}
	q.From, q.To = p.times(now)
	return q, nil
}

// fleetReadings is the parameters of the rows of many devices.
type fleetReadings struct {
	model.FleetQuery
	Within
	Form
}

// query returns the query about many devices; by default of the last day.
func (p fleetReadings) query(f answers.Format) model.FleetQuery {
	q := p.FleetQuery
	q.From, q.To = p.times(time.Now())
	q.Limit = limit(q.Limit, f)
	return q
}

// fleetWindows is the parameters of the windows of many devices.
type fleetWindows struct {
	fleetReadings
	Window string `query:"window"`
}

// reports is the parameters of reports.
type reports struct {
	model.ReportsQuery
	Within
	Form
}

// Incidents is the parameters that select incidents.
type Incidents struct {
	model.IncidentQuery
	Within
}

// Query returns the query for a part of the incidents; without a time, of all that are kept.
func (p Incidents) Query(part model.Part, now time.Time) model.IncidentQuery {
	q := p.IncidentQuery
	q.Part = part
	if p.given() {
		from, to := p.times(now)
		q.From, q.To = &from, &to
	}
	return q
}

// incidents is the parameters of a list of incidents in any format.
type incidents struct {
	Incidents
	model.Part
	Form
}

// An Archive is the parameters of the archive of a tenant; by default its newest days.
type Archive struct{ model.ArchiveQuery }

func (p Archive) check() error { return Times{p.From, p.To}.check() }

// archiveFiles is the parameters of the files of a table; without days, of all.
type archiveFiles struct {
	model.ArchiveFilesQuery
	Form
}

func (p archiveFiles) check() error { return Times{p.From, p.To}.check() }

// archiveFile names a file of the archive.
type archiveFile struct {
	Path string `query:"path"`
}
