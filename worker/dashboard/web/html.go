package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"furrow/worker/cost"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

func (s *Site) Routes() []api.Route {
	return append((&acting{s, newSent()}).routes(), []api.Route{
		withForm(s, "/{$}", s.mapPage),
		withForm(s, "/devices", s.devices),
		page(s, "/devices/{id}", s.device),
		api.Take("/devices/{id}/series.csv", s.seriesCSV),
		withForm(s, "/outliers", s.outliersPage),
		withForm(s, "/incidents", s.incidents),
		page(s, "/incidents/{incident}", s.incident),
		page(s, "/rules", s.rules),
		page(s, "/configuration", s.configuration),
		page(s, "/pipelines", s.pipelines),
		page(s, "/tenants", s.tenants),
		page(s, "/tenants/{tenant}", s.tenant),
		withForm(s, "/tenants/{tenant}/report", s.report),
		page(s, "/limits", s.limits),
		page(s, "/costs", s.costs),
		page(s, "/retention", s.retention),
		withForm(s, "/archive", s.archive),
		page(s, "/completeness", s.completeness),
		page(s, "/activity", s.activity),
	}...)
}

// page returns the route of a page, with what reads what it shows.
func page[Q any](s *Site, pattern string, read func(*http.Request, Q) (Page, error)) api.Route {
	return api.Take(pattern, func(w http.ResponseWriter, r *http.Request, q Q) error {
		page, err := read(r, q)
		if err != nil {
			return err
		}
		s.show(w, r, http.StatusOK, page)
		return nil
	})
}

// Fail answers a request with a page about err, or with the page itself where err is about a field of its form.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := api.Report(w, r, err, s.c.Log)
	if s.showWithout(w, r, p) {
		return
	}
	page := &ProblemPage{Status: p.Status, Title: p.Heading(), Detail: p.Detail}
	s.show(w, r, p.Status, page)
}

// known forgets a sensor that no device of the chosen tenant has: the form of a page still has the one before.
func (s *Site) known(r *http.Request, p *api.Map) {
	if p.Sensor != "" && p.Tenant != "" && !s.c.Model.Sensors.Has(r.Context(), p.Tenant, p.Sensor) {
		p.Sensor = ""
	}
}

// overview is the parameters of the first page.
type overview struct {
	api.Map
	Sort string `query:"sort"`
	api.Page
}

func (s *Site) mapPage(r *http.Request, p overview) (Page, error) {
	s.known(r, &p.Map)
	m, err := s.c.Model.Maps.Map(r.Context(), p.Map.Query())
	if err != nil {
		return nil, err
	}
	filter := p.Filter
	filter.State = "" // the figures of the other states are links to them
	overview, err := s.c.Model.Maps.Overview(r.Context(), filter)
	if err != nil {
		return nil, err
	}
	p.Sort = cmp.Or(p.Sort, model.SortState)
	list, err := s.c.Model.Lists.Devices(r.Context(), api.List{Map: p.Map, Sort: p.Sort}.Query(p.After, p.Limit))
	if err != nil {
		return nil, err
	}
	newest, err := s.c.Model.Incidents.Newest(r.Context(), filter, newestIncidents)
	rules, since := s.c.Model.Incidents.Watching(r.Context())
	return &MapPage{Filter: p.Filter, Sort: p.Sort, BBox: p.Box, Tiles: s.c.Tiles.Template,
		Tenants: s.c.Model.Tenants.Names(r.Context()),
		Sensors: s.c.Model.Sensors.OfTenant(r.Context(), p.Tenant), Overview: overview, Map: m, List: list,
		Newest: newest, Outliers: s.firstOutliers(r.Context(), filter), Rules: rules, Watched: since,
		Budget: s.c.Model.Pipelines.CloseBudget(r.Context())}, err
}

// devicesPage is the parameters of the page of all devices.
type devicesPage struct {
	api.List
	api.Page
}

func (s *Site) devices(r *http.Request, p devicesPage) (Page, error) {
	s.known(r, &p.Map)
	query := p.Query(p.After, p.Limit)
	list, err := s.c.Model.Lists.Devices(r.Context(), query)
	query.Sensor = list.Sensor
	return &DevicesPage{Query: query, Tenants: s.c.Model.Tenants.Names(r.Context()),
		Sensors: s.c.Model.Sensors.OfTenant(r.Context(), p.Tenant),
		List:    list}, err
}

// device shows a device; without its chart where that cannot be read.
func (s *Site) device(r *http.Request, p api.Compared) (Page, error) {
	now := time.Now()
	id, err := api.DeviceID(r)
	if err != nil {
		return nil, err
	}
	a, err := s.c.Model.Devices.Device(r.Context(), id)
	if err != nil {
		return nil, err
	}
	page := &DevicePage{Now: now.UTC(), Answer: a, Windows: s.c.Model.Accounts.Configured().SeriesWindows()}
	if a.Device.Until != nil { // the chart ends where the tenant's readings do
		now = *a.Device.Until
	}
	chosen := p.Span != "" || p.From != nil || p.To != nil
	if !chosen {
		p.Span = spanOfAge(newest(a.Latest, p.Sensor, now), api.DefaultSpan)
	}
	if page.Series, err = s.chart(r.Context(), p.Series(id, now)); err != nil {
		return nil, err
	}
	if began, any := beginning(page.Series); any && !chosen {
		if short := spanOfAge(now.Sub(began), ""); api.SpanOf(short) < api.SpanOf(p.Span) {
			p.Span, page.Series.From = short, page.Series.To.Add(-api.SpanOf(short))
		}
	}
	page.Span, page.Window = p.Span, p.Window
	for _, sensor := range p.With {
		q := p.Series(id, now)
		if q.Sensor = sensor; sensor == page.Sensor() {
			continue
		}
		other, err := s.chart(r.Context(), q)
		if err != nil {
			return nil, err
		}
		if other != nil && len(other.States) == 0 {
			page.Overlays, page.With = append(page.Overlays, other), append(page.With, sensor)
		}
	}
	if p.Against != "" && p.Against != id {
		q := p.Series(p.Against, now)
		q.Sensor, page.Against = page.Sensor(), p.Against
		other, err := s.chart(r.Context(), q)
		page.NoOther = err != nil
		if other != nil && len(other.States) == 0 {
			other.Sensor += " of " + p.Against
			page.Overlays = append(page.Overlays, other)
		}
	}
	q := p.Series(id, now)
	page.Incidents, err = s.c.Model.Incidents.OfDevice(r.Context(), id, q.From, q.To)
	s.warn(err, "incidents cannot be read", "device", id)
	if a.Device.Until == nil {
		told, err := s.c.Model.Devices.Commands(r.Context(), id)
		s.warn(err, "commands cannot be read", "device", id)
		page.Commands = api.CommandsOf(id, told)
	}
	gaps, err := s.c.Model.DeviceRows.RecentGaps(r.Context(), id)
	s.warn(err, "gaps cannot be read", "device", id)
	if err == nil && gaps.Numbered {
		page.Gaps = &gaps
	}
	page.Verified, err = s.c.Model.Verified.OfDevice(r.Context(), a.Device.Tenant, id)
	s.warn(err, "samples cannot be read", "device", id)
	return page, nil
}

// warn logs why a page lacks something.
func (s *Site) warn(err error, what string, about ...any) {
	if err != nil {
		s.c.Log.Warn(what, append(about, "error", err)...)
	}
}

// newest returns the age of a device's newest value, of one sensor or of any.
func newest(all []model.Latest, sensor string, now time.Time) (age time.Duration) {
	for _, v := range all {
		if is := now.Sub(v.Time); (sensor == "" || v.Sensor == sensor) && (age == 0 || is < age) {
			age = is
		}
	}
	return age
}

// beginning returns the time of the first value of a series, if it has any. s may be nil.
func beginning(s *model.Series) (t time.Time, any bool) {
	switch {
	case s == nil:
	case len(s.Points) > 0:
		return s.Points[0].Time, true
	case len(s.States) > 0:
		return s.States[0].From, true
	}
	return t, false
}

// spanOfAge returns the shortest span of charts that reaches back so far, and is no shorter than another.
func spanOfAge(age time.Duration, least string) string {
	names := api.SpanNames()
	for _, name := range names {
		if d := api.SpanOf(name); d > age && d >= api.SpanOf(least) {
			return name
		}
	}
	return names[len(names)-1]
}

// chart reads a series to draw: nil where there is none, or it cannot be read. It is an error to ask for what does not
// exist.
func (s *Site) chart(ctx context.Context, q model.SeriesQuery) (*model.Series, error) {
	series, err := s.c.Model.Charts.Series(ctx, q)
	if _, invalid := errors.AsType[*model.QueryError](err); invalid || errors.Is(err, model.ErrUnknown) {
		return nil, err
	}
	return s.charted(series, err), nil
}

// charted returns a series to draw, or nil where there is none or it could not be read.
func (s *Site) charted(series model.Series, err error) *model.Series {
	s.warn(err, "chart cannot be read")
	if err != nil || series.Sensor == "" {
		return nil
	}
	return &series
}

func (s *Site) pipelines(r *http.Request, _ api.None) (Page, error) {
	a, err := s.c.Model.Pipelines.All(r.Context())
	return &PipelinesPage{Now: time.Now().UTC(), Answer: a}, err
}

// limits shows how far the fleet is from the limits of storage.
func (s *Site) limits(r *http.Request, _ api.None) (Page, error) {
	a, err := s.c.Model.Pipelines.All(r.Context())
	return &LimitsPage{Limits: a.Limits}, err
}

func (s *Site) tenants(r *http.Request, p api.Page) (Page, error) {
	a, err := s.c.Model.Tenants.List(r.Context(), p.After, p.Limit)
	return &TenantsPage{Answer: a}, err
}

// retention shows what is kept, and what stays longer.
func (s *Site) retention(r *http.Request, p api.OfTenant) (Page, error) {
	if err := api.PersonOf(r.Context()).MaySeeTerms(); err != nil {
		return nil, err
	}
	a, err := s.c.Model.Retentions.OfTenant(r.Context(), p.Tenant)
	return &RetentionPage{Tenant: p.Tenant, Answer: a}, err
}

// costs shows what tenants cost.
func (s *Site) costs(r *http.Request, q model.CostQuery) (Page, error) {
	if err := api.PersonOf(r.Context()).MaySeeTerms(); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	costs, err := s.c.Model.Costs.OfMonth(r.Context(), q)
	return &CostsPage{Tenant: q.Tenant, Month: q.Of(now).Format("2006-01"), Now: now.Format("2006-01"),
		ByDay: q.Window != "", Costs: costs}, err
}

// cost returns what a tenant costs this month, or nil where that is not known.
func (s *Site) cost(r *http.Request, tenant string) *cost.TenantCost {
	if !s.c.Model.Accounts.Configured().ReportsTenants() || api.PersonOf(r.Context()).MaySeeTerms() != nil {
		return nil
	}
	aside, _ := model.Reading(r.Context()) // they may be older than the rest of the page
	costs, err := s.c.Model.Costs.OfMonth(aside, model.CostQuery{MonthQuery: model.MonthQuery{Tenant: tenant}})
	s.warn(err, "costs cannot be read", "tenant", tenant)
	if err != nil || len(costs.Tenants) == 0 {
		return nil
	}
	return &costs.Tenants[0]
}

// tenant shows a tenant; without its chart where that cannot be read.
func (s *Site) tenant(r *http.Request, q model.DayQuery) (Page, error) {
	now := time.Now()
	name, err := api.Tenant(r)
	if err != nil {
		return nil, err
	}
	t, err := s.c.Model.Tenants.Tenant(r.Context(), name)
	if err != nil {
		return nil, err
	}
	q.Tenant = name
	series, err := s.c.Model.Charts.Day(r.Context(), q)
	has := s.c.Model.Accounts.Configured()
	return &TenantPage{Tenant: t, Day: q.On(now).String(), Today: now.UTC().Format(time.DateOnly),
		Sensors: s.c.Model.Sensors.OfTenant(r.Context(), name), Series: s.charted(series, err),
		Reports: has.ReportsTenants(), Archives: has.HasArchive(),
		Retains: has.HasRetention() && api.PersonOf(r.Context()).MaySeeTerms() == nil,
		Cost:    s.cost(r, name)}, nil
}

// report shows a tenant's day, week or month.
func (s *Site) report(r *http.Request, q model.SummaryQuery) (Page, error) {
	now := time.Now()
	name, err := api.Tenant(r)
	if err != nil {
		return nil, err
	}
	q.Tenant = name
	summary, err := s.c.Model.Reports.Summary(r.Context(), q)
	return &ReportPage{Tenant: name, Day: q.On(now).String(), Today: now.UTC().Format(time.DateOnly),
		Sensors: s.c.Model.Sensors.OfTenant(r.Context(), name), Groups: s.c.Model.Accounts.Configured().Compared(),
		Summary: summary}, err
}
