package web

import (
	"fmt"
	"furrow/worker/dashboard/model"
	"math"
	"net/url"
	"time"
)

// What the templates ask of their pages.

// Closer is the address of the map of a cluster.
func (p World) Closer(c model.Cluster) string { return p.closer(c) }

// Fit is the box that the map begins with: the one asked for or, where the fleet is
// all in one part of the world, that part. Empty is the world.
func (p World) Fit() string {
	if b := p.BBox; b != nil && onEarth(&b[1], &b[0]) && onEarth(&b[3], &b[2]) {
		return fmt.Sprintf("%.5f,%.5f,%.5f,%.5f", b[0], b[1], b[2], b[3])
	}
	west, south, east, north := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, c := range p.Map.Clusters {
		west, south, east, north = min(west, c.BBox[0]), min(south, c.BBox[1]), max(east, c.BBox[2]), max(north, c.BBox[3])
	}
	for _, d := range p.Map.Devices {
		west, south, east, north = min(west, d.Lon), min(south, d.Lat), max(east, d.Lon), max(north, d.Lat)
	}
	if !(east-west <= 90) || !onEarth(&north, &east) || !onEarth(&south, &west) {
		return ""
	}
	const least = 0.5 // degrees around a single place
	return fmt.Sprintf("%.5f,%.5f,%.5f,%.5f", west-least, south-least, east+least, north+least)
}

// States are those to choose from.
func (p DevicesPage) States() []model.State {
	return []model.State{model.OK, model.Silent, model.Held, model.Revoked}
}

// Filtered says whether there are devices that the list leaves out.
func (p DevicesPage) Filtered() bool {
	return p.Ask.Tenant != "" || p.Ask.Site != "" || p.Ask.Prefix != "" || p.Ask.State != ""
}

// Sorted is what the list is sorted by.
func (p DevicesPage) Sorted() string {
	if p.Ask.Sort == "" {
		return "device"
	}
	return p.Ask.Sort
}

// Sensor is that of the chart.
func (p DevicePage) Sensor() string {
	if p.Series == nil {
		return ""
	}
	return p.Series.Sensor
}

// Title is that of the chart.
func (p DevicePage) Title() string { return p.Sensor() + " of " + p.Answer.Device.Device }

// State is how the device is.
func (p DevicePage) State() model.State {
	if p.Answer.Device.Status == string(model.Revoked) {
		return model.Revoked
	}
	for _, of := range p.Answer.Pipelines {
		if of.Held != nil {
			return model.Held
		}
	}
	return p.Answer.State
}

// Address is that of the page with another sensor or span.
func (p DevicePage) Address(name, text string) string {
	q := url.Values{}
	if p.Series != nil {
		q.Set("sensor", p.Series.Sensor)
	}
	switch {
	case p.Span != "":
		q.Set("span", p.Span)
	case p.Series != nil:
		q.Set("from", p.Series.From.UTC().Format(time.RFC3339))
		q.Set("to", p.Series.To.UTC().Format(time.RFC3339))
	}
	if q.Set(name, text); name == "span" {
		q.Del("from")
		q.Del("to")
	}
	return "/devices/" + url.PathEscape(p.Answer.Device.Device) + "?" + q.Encode()
}

// Tenants is how many there are, on this page and others.
func (p TenantsPage) Tenants() int { return max(p.Answer.Total, len(p.Answer.Tenants)) }

// Most is the most devices that a tenant has.
func (p TenantsPage) Most() int {
	most := 0
	for _, t := range p.Answer.Tenants {
		most = max(most, t.Devices)
	}
	return most
}

// Sensor is that of the chart.
func (p TenantPage) Sensor() string {
	if p.Series == nil {
		return ""
	}
	return p.Series.Sensor
}

// Title is that of the chart.
func (p TenantPage) Title() string { return p.Sensor() + " of " + p.Tenant.Tenant + " on " + p.Day }

// Address is that of the page with another sensor or day.
func (p TenantPage) Address(name, text string) string {
	q := url.Values{"day": {p.Day}}
	if p.Series != nil {
		q.Set("sensor", p.Series.Sensor)
	}
	q.Set(name, text)
	return "/tenants/" + url.PathEscape(p.Tenant.Tenant) + "?" + q.Encode()
}

// Before is the day before.
func (p TenantPage) Before() string { return p.beside(-1) }

// After is the day after, unless that is still to come.
func (p TenantPage) After() string {
	if p.Today != "" && p.Day >= p.Today {
		return ""
	}
	return p.beside(1)
}

func (p TenantPage) beside(days int) string {
	day, err := time.Parse(time.DateOnly, p.Day)
	if err != nil {
		return p.Day
	}
	return day.AddDate(0, 0, days).Format(time.DateOnly)
}
