package dashboard

import (
	_ "embed"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// What programs read.

func (d *Dashboard) worldData(x *exchange) error {
	m, err := d.view.Map(x.r.Context(), x.ask.world())
	if err != nil {
		return err
	}
	return x.data(m)
}

func (d *Dashboard) sensors(x *exchange) error {
	s, err := d.view.Sensors(x.r.Context(), x.ask.Tenant)
	if err != nil {
		return err
	}
	return x.data(s)
}

func (d *Dashboard) listData(x *exchange) error {
	list, _, err := d.view.Devices(x.r.Context(), x.ask.list())
	if err != nil {
		return err
	}
	return x.data(list)
}

func (d *Dashboard) deviceData(x *exchange) error {
	id, err := x.device()
	if err != nil {
		return err
	}
	a, _, err := d.view.Device(x.r.Context(), id)
	if err != nil {
		return err
	}
	return x.data(a)
}

func (d *Dashboard) seriesData(x *exchange) error {
	id, err := x.device()
	if err != nil {
		return err
	}
	s, _, err := d.view.Series(x.r.Context(), x.ask.series(id, time.Now()))
	if err != nil {
		return err
	}
	return x.data(s)
}

func (d *Dashboard) pipelinesData(x *exchange) error {
	a, _, err := d.view.Pipelines(x.r.Context())
	if err != nil {
		return err
	}
	return x.data(a)
}

func (d *Dashboard) tenantsData(x *exchange) error {
	a, _, err := d.view.Tenants(x.r.Context(), model.TenantsAsk{After: x.ask.After, Limit: x.ask.Limit})
	if err != nil {
		return err
	}
	return x.data(a)
}

func (d *Dashboard) dayData(x *exchange) error {
	tenant, err := x.tenant()
	if err != nil {
		return err
	}
	s, _, err := d.view.Day(x.r.Context(), x.ask.day(tenant, time.Now()))
	if err != nil {
		return err
	}
	return x.data(s)
}

// device is the id in the path.
func (x *exchange) device() (string, error) {
	id, err := schema.ParseDeviceID(x.r.PathValue("id"))
	if err != nil {
		return "", badRequest("The path names no device: " + err.Error() + ".")
	}
	return string(id), nil
}

// tenant is the one in the path.
func (x *exchange) tenant() (string, error) {
	t, err := schema.ParseTenant(x.r.PathValue("tenant"))
	if err != nil {
		return "", badRequest("The path names no tenant: " + err.Error() + ".")
	}
	return string(t), nil
}

// description tells those who write clients what there is.
//
//go:embed openapi.json
var description []byte

func (d *Dashboard) openAPI(x *exchange) error {
	x.w.Header().Set("Cache-Control", "no-cache")
	x.tagged("application/json", description)
	return nil
}

func (d *Dashboard) healthz(x *exchange) error {
	x.w.Header().Set("Cache-Control", "no-store")
	x.send(200, "application/json", []byte("{\"status\":\"alive\"}\n"))
	return nil
}
