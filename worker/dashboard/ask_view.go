package dashboard

import (
	"cmp"
	"math"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// What an ask is to the view.

// world is the ask for a map. Without a zoom it is one that fits the box.
func (a ask) world() model.MapAsk {
	m := model.MapAsk{Box: model.World(), Sensor: a.Sensor, Tenant: a.Tenant}
	if a.Box != nil {
		m.Box = *a.Box
	}
	if a.Zoom != nil {
		m.Zoom = *a.Zoom
		return m
	}
	wide := m.Box[2] - m.Box[0]
	if wide < 0 {
		wide += 360
	}
	m.Zoom = math.Log2(fitPixels / worldPixels * 360 / max(wide, 2*(m.Box[3]-m.Box[1]), 1e-6))
	return m
}

// A map that says no zoom is taken to be so wide; the world is worldPixels at zoom 0.
const (
	fitPixels   = 1024.0
	worldPixels = 256
)

func (a ask) list() model.ListAsk {
	return model.ListAsk{Tenant: a.Tenant, Site: a.Site, Prefix: a.Prefix, State: a.State, Box: a.Box, Sensor: a.Sensor, Sort: a.Sort, After: a.After, Limit: a.Limit}
}

// shown is the list as its page says it.
func (a ask) shown(sensor string) web.DevicesAsk {
	return web.DevicesAsk{Tenant: a.Tenant, Site: a.Site, Prefix: a.Prefix, Sensor: cmp.Or(a.Sensor, sensor), After: a.After, State: a.State, Sort: a.Sort, Limit: a.Limit}
}

// series is the ask for a chart: of the last day, where nothing is said of the time.
func (a ask) series(device string, now time.Time) model.SeriesAsk {
	s := model.SeriesAsk{Device: device, Sensor: a.Sensor, From: a.From, To: a.To, Window: a.Window}
	if s.To.IsZero() {
		s.To = now.Truncate(time.Second).Add(time.Second) // so that those who ask within a second share an answer
	}
	if s.From.IsZero() {
		s.From = s.To.Add(-spanOf(cmp.Or(a.Span, "24h")))
	}
	return s
}

func (a ask) day(tenant string, now time.Time) model.DayAsk {
	d := model.DayAsk{Tenant: tenant, Sensor: a.Sensor, Day: schema.DayOf(tables.TicksOf(now))}
	if a.Day != nil {
		d.Day = *a.Day
	}
	return d
}
