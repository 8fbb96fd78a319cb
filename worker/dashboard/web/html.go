package web

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// Routes returns the routes of all pages.
func (s *Site) Routes() []api.Route {
	return []api.Route{
		{Pattern: "/{$}", Params: append(api.MapParams(), "after", "limit"), Handle: s.mapPage},
		{Pattern: "/devices", Params: api.ListParams(), Handle: s.devices},
		{Pattern: "/devices/{id}", Params: api.SeriesParams(), Handle: s.device},
		{Pattern: "/pipelines", Handle: s.pipelines},
		{Pattern: "/tenants", Params: api.TenantsParams(), Handle: s.tenants},
		{Pattern: "/tenants/{tenant}", Params: api.DayParams(), Handle: s.tenant},
	}
}

// Fail answers a request with a page about err.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := api.Report(w, r, err, s.c.Log)
	s.show(w, r, p.Status, ProblemPage{Footer: s.footer(model.Read{At: time.Now()}), Status: p.Status, Title: p.Heading(),
		Detail: p.Detail})
}

func (s *Site) footer(r model.Read) Footer {
	return Footer{At: r.At.UTC(), Operations: r.Operations, Cached: r.Cached, Storage: s.c.Storage, Version: s.c.Version}
}

func (s *Site) mapPage(w http.ResponseWriter, r *http.Request, p api.Params) error {
	m, read, err := s.c.Model.Map(r.Context(), p.Map())
	if err != nil {
		return err
	}
	list, _, err := s.c.Model.Devices(r.Context(), p.ListQuery)
	if err != nil {
		return err
	}
	sensors, _, err := s.c.Model.Sensors(r.Context(), p.Tenant)
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, MapPage{Footer: s.footer(read), Tenant: p.Tenant, BBox: p.Box,
		Tenants: s.c.Model.TenantNames(),
		Sensors: sensors.Sensors, Map: m, List: list})
	return nil
}

func (s *Site) devices(w http.ResponseWriter, r *http.Request, p api.Params) error {
	list, read, err := s.c.Model.Devices(r.Context(), p.ListQuery)
	if err != nil {
		return err
	}
	sensors, _, err := s.c.Model.Sensors(r.Context(), p.Tenant)
	if err != nil {
		return err
	}
	query := p.ListQuery
	query.Sensor = cmp.Or(query.Sensor, s.c.Model.FirstSensor(p.Tenant))
	s.show(w, r, http.StatusOK, DevicesPage{Footer: s.footer(read), Query: query, Tenants: s.c.Model.TenantNames(),
		Sensors: sensors.Sensors, List: list})
	return nil
}

// device shows a device; without its chart where that cannot be read.
func (s *Site) device(w http.ResponseWriter, r *http.Request, p api.Params) error {
	now := time.Now()
	id, err := api.DeviceID(r)
	if err != nil {
		return err
	}
	a, read, err := s.c.Model.Device(r.Context(), id)
	if err != nil {
		return err
	}
	page := DevicePage{Now: now.UTC(), Answer: a, Span: p.Span}
	if p.From.IsZero() && p.To.IsZero() {
		page.Span = cmp.Or(p.Span, api.DefaultSpan)
	}
	series, charted, err := s.c.Model.Series(r.Context(), p.Series(id, now))
	if _, invalid := errors.AsType[*model.QueryError](err); invalid {
		return err
	}
	page.Series = s.charted(series, err)
	page.Footer = s.footer(read.And(charted))
	s.show(w, r, http.StatusOK, page)
	return nil
}

// charted returns a series to draw, or nil where there is none or it could not be read.
func (s *Site) charted(series model.Series, err error) *model.Series {
	if err != nil {
		s.c.Log.Warn("chart cannot be read", "error", err)
	}
	if err != nil || series.Sensor == "" {
		return nil
	}
	return &series
}

func (s *Site) pipelines(w http.ResponseWriter, r *http.Request, _ api.Params) error {
	a, read, err := s.c.Model.Pipelines(r.Context())
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, PipelinesPage{Footer: s.footer(read), Now: time.Now().UTC(), Answer: a})
	return nil
}

func (s *Site) tenants(w http.ResponseWriter, r *http.Request, p api.Params) error {
	a, read, err := s.c.Model.Tenants(r.Context(), p.Tenants())
	if err != nil {
		return err
	}
	s.show(w, r, http.StatusOK, TenantsPage{Footer: s.footer(read), Answer: a})
	return nil
}

// tenant shows a tenant; without its chart where that cannot be read.
func (s *Site) tenant(w http.ResponseWriter, r *http.Request, p api.Params) error {
	now := time.Now()
	name, err := api.Tenant(r)
	if err != nil {
		return err
	}
	t, read, err := s.c.Model.Tenant(r.Context(), name)
	if err != nil {
		return err
	}
	sensors, _, err := s.c.Model.Sensors(r.Context(), name)
	if err != nil {
		return err
	}
	query := p.DayOf(name, now)
	series, charted, err := s.c.Model.Day(r.Context(), query)
	s.show(w, r, http.StatusOK, TenantPage{Footer: s.footer(read.And(charted)), Tenant: t, Day: query.Day.String(),
		Today: now.UTC().Format(time.DateOnly), Sensors: sensors.Sensors, Series: s.charted(series, err)})
	return nil
}
