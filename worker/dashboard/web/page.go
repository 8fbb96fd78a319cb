package web

import (
	"reflect"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web/internal/chart"
)

// A Page is what one template renders: a pointer to a struct, such as MapPage of map.html.
type Page interface {
	common() *foot
}

// fileOf returns the name of a page's template.
func fileOf(p Page) string {
	return strings.ToLower(strings.TrimSuffix(reflect.TypeOf(p).Elem().Name(), "Page")) + ".html"
}

// A Footer is what every page says at its end about its data.
type Footer struct {
	At         time.Time // when it was read from storage
	Operations int       // storage operations that reading it took
	Cached     bool      // it was read for another request
	Storage    string    // URL of the storage, without a key; may be empty
	Version    string    // of furrow; may be empty
	Missing    []string  // accounts of the fleet that could not be read
	Partial    bool      // some could not be when the data of the page was read
	Full       []string  // accounts that take nothing new, because their disk is full
	Tiles      string    // whom the street map is from; empty: there is none
}

// A foot is what all pages have.
type foot struct {
	Place    location
	Footer   Footer
	Person   api.Person   // who sees the page
	Stranger bool         // nobody who may see anything of the fleet
	wrong    []wrongValue // that its form shows although they are not applied
}

func (f *foot) common() *foot { return f }

// A frame is what base.html renders. What all pages have is beside the page: to find a field of an embedded struct
// takes a template longer than to write it, and there are dozens of them.
type frame struct {
	Foot *foot
	Page Page
}

// May reports whether the person may act with a role.
func (f foot) May(role schema.Role) bool { return f.Person.May(role) == nil }

// plain is a chart of one sensor, without limits, over which nothing is drawn.
type plain struct{}

func (plain) Bands() []chart.Band       { return nil }
func (plain) Overlays() []*model.Series { return nil }
func (plain) Limits() []float64         { return nil }

// A MapPage is the first page: the overview. It takes the parameters of /v1/map; without a bbox it shows the world.
type MapPage struct {
	foot
	Filter   model.Filter
	Sort     string     // of the list
	BBox     *model.Box // nil: the world
	Tiles    string     // template of addresses of a street map; empty: none
	Tenants  []string
	Sensors  []model.Sensor
	Overview model.Overview
	Newest   []answers.Incident // open ones, the greatest severity first
	Outliers model.OutlierList  // the first ones; empty until what they are found by was read
	Rules    int                // how many can watch what the person sees
	Watched  time.Time          // since when; zero: that is not known
	Map      model.Map
	List     model.DeviceList
	Budget   *model.Budget // nearly spent, or more; nil: it is not, or there is none
}

// A DevicesPage lists devices. It takes the parameters of /v1/devices.
type DevicesPage struct {
	foot
	Query   model.ListQuery
	Tenants []string
	Sensors []model.Sensor
	List    model.DeviceList
}

// A DevicePage is one device. It takes the parameters of /v1/devices/{id}/series, and with for other sensors.
type DevicePage struct {
	foot
	plain
	Now      time.Time
	Answer   model.DeviceAnswer
	Span     string   // as in the address; empty where from and to were given
	Window   string   // as in the address
	Windows  []string // that it may be
	Series   *model.Series
	Overlays []*model.Series   // other sensors of the same time, and then the same sensor of another device
	With     []string          // the other sensors
	Against  string            // the other device; empty: none
	NoOther  bool              // there is no such device, or it does not have the sensor
	Gaps     *model.RecentGaps // nil: its readings have no numbers, or they could not be read
	// Verified has the differences of the device that the newest sample has found.
	Verified model.Completeness
	// Incidents are those of the time of the chart, the newest first.
	Incidents []answers.Incident
	Commands  api.Commands
}

// An IncidentsPage lists incidents. It takes the parameters of /v1/incidents.
type IncidentsPage struct {
	foot
	Now     time.Time
	Query   model.IncidentQuery
	Span    string // as in the address
	Tenants []string
	Answer  model.Incidents
	Counts  *model.IncidentCounts // nil: they could not be read
}

// An IncidentPage is one incident.
type IncidentPage struct {
	foot
	plain
	Now    time.Time
	Answer model.IncidentAnswer
	Rule   model.Rule    // the zero Rule: it is no longer configured
	Series *model.Series // around the incident; nil: it could not be read
	Newest *model.Dot    // the device's newest value of that sensor; nil: it has none
}

// A PipelinesPage shows the state of all pipelines.
type PipelinesPage struct {
	foot
	Now    time.Time
	Answer model.PipelinesAnswer
}

// A LimitsPage shows how far the fleet is from the limits of storage.
type LimitsPage struct {
	foot
	Limits []model.StorageLimit
}

// A TenantsPage lists tenants.
type TenantsPage struct {
	foot
	Answer model.TenantsAnswer
}

// A TenantPage is a tenant's day. It takes the parameters of /v1/tenants/{tenant}/day.
type TenantPage struct {
	foot
	plain
	Tenant  model.Tenant
	Day     string // such as 2026-11-21
	Today   string
	Sensors []model.Sensor
	Series  *model.Series
	Reports bool // the tenant's days, weeks and months are reported
	Retains bool // something of the tenant is deleted in the end
	// Archives says that a pipeline keeps an archive.
	Archives bool
	Cost     *cost.TenantCost // of this month; nil: it is not known
}

// A CostsPage shows what tenants cost in a month. It takes the parameters of /v1/costs.
type CostsPage struct {
	foot
	Tenant string // the only one; empty: all that the person sees
	Month  string // such as 2026-11
	Now    string // the current month
	ByDay  bool
	Costs  cost.Costs
}

// A RetentionPage shows what is kept for how long. It takes the parameters of /v1/retention.
type RetentionPage struct {
	foot
	Tenant string // the only one; empty: all that the person sees
	Answer model.Retention
}

// A ReportPage is a tenant's day, week or month. It takes the parameters of /v1/tenants/{tenant}/summary.
type ReportPage struct {
	foot
	plain
	Tenant  string
	Day     string // in the period, such as 2026-11-21
	Today   string
	Sensors []model.Sensor
	Groups  []schema.By // what can be side by side
	Summary model.Summary
}

// A ProblemPage says why there is no page.
type ProblemPage struct {
	foot
	Status int    // of HTTP
	Title  string // such as "Page not found"
	Detail string
}
