package web

import (
	"furrow/worker/dashboard/model"
	"time"
)

// A Page is what a page is made of: one of the structs below.
type Page interface{ file() string }

// A Foot is what every page says at its end.
type Foot struct {
	At         time.Time // when its data was read from storage
	Operations int       // of storage, that it cost to read them
	Cached     bool      // they were read for another page
	Storage    string    // where the data lie, without a key; may be empty
	Version    string    // of furrow; may be empty
}

// A World is the first page. Its address takes what /v1/map takes; without a bbox
// it is the whole world.
type World struct {
	Foot    Foot
	Tenant  string      // chosen; empty is all
	BBox    *[4]float64 // west, south, east, north; nil is the world
	Tenants []string
	Sensors []model.Sensor
	Map     model.Map        // for the view of BBox; at most a few hundred marks
	List    model.DeviceList // of the devices in view or, where that is dear, of all
}

// A DevicesPage lists devices. Its address takes what /v1/devices takes.
type DevicesPage struct {
	Foot    Foot
	Ask     DevicesAsk
	Tenants []string
	Sensors []model.Sensor
	List    model.DeviceList
}

// A DevicesAsk is what a list of devices was asked for.
type DevicesAsk struct {
	Tenant, Site, Prefix, Sensor, After string
	State                               model.State // empty is any
	Sort                                string      // device, time or value; empty is device
	Limit                               int
}

// A DevicePage is one device. Its address takes what /v1/devices/{id}/series takes,
// and span=1h, 6h, 24h, 7d, 30d or 1y instead of from and to.
type DevicePage struct {
	Foot   Foot
	Now    time.Time
	Answer model.DeviceAnswer
	Span   string // as in the address; empty where from and to were given
	Series *model.Series
}

// A PipelinesPage is how all pipelines do.
type PipelinesPage struct {
	Foot   Foot
	Now    time.Time
	Answer model.PipelinesAnswer
}

// A TenantsPage lists tenants.
type TenantsPage struct {
	Foot   Foot
	Answer model.TenantsAnswer
}

// A TenantPage is a tenant's day. Its address takes what /v1/tenants/{t}/day takes.
type TenantPage struct {
	Foot    Foot
	Tenant  model.Tenant
	Day     string // such as 2026-11-21
	Today   string
	Sensors []model.Sensor
	Series  *model.Series
}

// A ProblemPage says why there is no page.
type ProblemPage struct {
	Foot   Foot
	Status int    // of HTTP
	Title  string // such as "There is no such device"
	Detail string
}

func (World) file() string         { return "world.html" }
func (DevicesPage) file() string   { return "devices.html" }
func (DevicePage) file() string    { return "device.html" }
func (PipelinesPage) file() string { return "pipelines.html" }
func (TenantsPage) file() string   { return "tenants.html" }
func (TenantPage) file() string    { return "tenant.html" }
func (ProblemPage) file() string   { return "problem.html" }
