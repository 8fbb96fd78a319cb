package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// What people read. A page whose chart cannot be read is shown without it.

func (d *Dashboard) foot(r model.Read) web.Foot {
	return web.Foot{At: r.At.UTC(), Operations: r.Operations, Cached: r.Cached, Storage: d.c.Storage, Version: d.c.Version}
}

// show answers with a page.
func (d *Dashboard) show(x *exchange, status int, p web.Page) {
	if err := d.pages.Write(x.w, x.r, status, p); err != nil {
		d.log.Error("a page cannot be written", "path", x.r.URL.Path, "error", err)
		http.Error(x.w, "This page cannot be written; the log says why.", http.StatusInternalServerError)
	}
}

func (d *Dashboard) world(x *exchange) error {
	ctx := x.r.Context()
	m, err := d.view.Map(ctx, x.ask.world())
	if err != nil {
		return err
	}
	list, read, err := d.view.Devices(ctx, x.ask.list())
	if err != nil {
		return err
	}
	sensors, err := d.view.Sensors(ctx, x.ask.Tenant)
	if err != nil {
		return err
	}
	p := web.World{Foot: d.foot(read), Tenant: x.ask.Tenant, Tenants: d.view.TenantNames(), Sensors: sensors.Sensors, Map: m, List: list}
	if x.ask.Box != nil {
		box := [4]float64(*x.ask.Box)
		p.BBox = &box
	}
	d.show(x, http.StatusOK, p)
	return nil
}

func (d *Dashboard) list(x *exchange) error {
	ctx := x.r.Context()
	list, read, err := d.view.Devices(ctx, x.ask.list())
	if err != nil {
		return err
	}
	sensors, err := d.view.Sensors(ctx, x.ask.Tenant)
	if err != nil {
		return err
	}
	d.show(x, http.StatusOK, web.DevicesPage{Foot: d.foot(read), Ask: x.ask.shown(d.view.FirstSensor(x.ask.Tenant)), Tenants: d.view.TenantNames(), Sensors: sensors.Sensors, List: list})
	return nil
}

func (d *Dashboard) device(x *exchange) error {
	ctx, now := x.r.Context(), time.Now()
	id, err := x.device()
	if err != nil {
		return err
	}
	a, read, err := d.view.Device(ctx, id)
	if err != nil {
		return err
	}
	p := web.DevicePage{Now: now.UTC(), Answer: a, Span: x.ask.Span}
	if x.ask.From.IsZero() && x.ask.To.IsZero() {
		p.Span = cmp.Or(p.Span, "24h")
	}
	s, charted, err := d.view.Series(ctx, x.ask.series(id, now))
	if _, wrong := errors.AsType[*model.AskError](err); wrong {
		return err
	}
	if err != nil {
		d.log.Warn("a chart cannot be read", "device", id, "error", err)
	} else if s.Sensor != "" {
		p.Series = &s
	}
	p.Foot = d.foot(read.And(charted))
	d.show(x, http.StatusOK, p)
	return nil
}

func (d *Dashboard) pipelines(x *exchange) error {
	a, read, err := d.view.Pipelines(x.r.Context())
	if err != nil {
		return err
	}
	d.show(x, http.StatusOK, web.PipelinesPage{Foot: d.foot(read), Now: time.Now().UTC(), Answer: a})
	return nil
}

func (d *Dashboard) tenants(x *exchange) error {
	a, read, err := d.view.Tenants(x.r.Context(), model.TenantsAsk{After: x.ask.After, Limit: x.ask.Limit})
	if err != nil {
		return err
	}
	d.show(x, http.StatusOK, web.TenantsPage{Foot: d.foot(read), Answer: a})
	return nil
}

func (d *Dashboard) tenant(x *exchange) error {
	ctx, now := x.r.Context(), time.Now()
	name, err := x.tenant()
	if err != nil {
		return err
	}
	t, read, err := d.view.Tenant(ctx, name)
	if err != nil {
		return err
	}
	sensors, err := d.view.Sensors(ctx, name)
	if err != nil {
		return err
	}
	ask := x.ask.day(name, now)
	p := web.TenantPage{Tenant: t, Day: ask.Day.String(), Today: now.UTC().Format(time.DateOnly), Sensors: sensors.Sensors}
	s, charted, err := d.view.Day(ctx, ask)
	if err != nil {
		d.log.Warn("a chart cannot be read", "tenant", name, "error", err)
	} else if s.Sensor != "" {
		p.Series = &s
	}
	p.Foot = d.foot(read.And(charted))
	d.show(x, http.StatusOK, p)
	return nil
}
