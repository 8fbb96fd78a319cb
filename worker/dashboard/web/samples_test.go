package web_test

import (
	"maps"
	"math"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
	"furrow/worker/limits"
)

// nasty is a name that a hostile device could send.
const nasty = `"><script>alert(1)</script>'&amp;{{.}} ` + "\u202e\x00" + `javascript:alert(2)`

// allPages returns all pages: with usual data, empty, and with hostile data.
func allPages() map[string]web.Page {
	all := usualPages()
	maps.Copy(all, hostilePages())
	maps.Copy(all, map[string]web.Page{
		"world/empty":     &web.MapPage{},
		"devices/empty":   &web.DevicesPage{},
		"device/empty":    &web.DevicePage{Now: theTime()},
		"incidents/empty": &web.IncidentsPage{Counts: &model.IncidentCounts{Hours: make([]int, 24)}},
		"incident/empty": &web.IncidentPage{Now: theTime(),
			Answer: model.IncidentAnswer{IncidentHistory: answers.IncidentHistory{
				Incident: answers.Incident{Rule: "hot", Device: "pump-7"}}}},
		"pipelines/empty": &web.PipelinesPage{},
		"pipeline/new": &web.PipelinesPage{
			Answer: model.PipelinesAnswer{Pipelines: []model.PipelineStatus{{Pipeline: "live"}}}},
		"limits/empty":    &web.LimitsPage{},
		"outliers/empty":  &web.OutliersPage{},
		"tenants/empty":   &web.TenantsPage{},
		"tenant/empty":    &web.TenantPage{},
		"costs/empty":     &web.CostsPage{},
		"retention/empty": &web.RetentionPage{},
		"archive/empty":   &web.ArchivePage{},
		"complete/empty":  &web.CompletenessPage{Month: "2026-11"},
		"archive/choose":  &web.ArchivePage{Tenants: []string{"contoso", "x"}, Answer: model.Archive{Archives: true}},
		"archive/new":     &web.ArchivePage{Answer: model.Archive{Archives: true, Tenant: "contoso"}},
		"report/empty":    &web.ReportPage{},
		"rules/empty":     &web.RulesPage{},
		"config/empty":    &web.ConfigurationPage{},
		"problem/empty":   &web.ProblemPage{},
	})
	return all
}

func usualPages() map[string]web.Page {
	world, list, sensors := theMap(), model.DeviceList{Devices: devices(), Total: 2000, Next: "a cursor"}, sensors()
	overview := model.Overview{Devices: 2000, Silent: 3, Held: 1, Placed: 1950, LagSeconds: number(34),
		ReadingsPerMinute: number(1940), Incidents: model.OpenIncidents{Critical: 2, Warning: 1, Muted: 1}}
	tenant := model.Tenant{Tenant: "contoso", Devices: 12, ReadingsToday: 960, Silent: 1, Held: 2}
	return map[string]web.Page{
		"world": &web.MapPage{Budget: spent(0.81), Filter: model.Filter{Tenant: "contoso"}, Overview: overview,
			Tenants: []string{"contoso",
				"fabrikam"}, Sensors: sensors,
			Map: world, List: list, Newest: incidents(), Rules: 3, Watched: theTime(), Outliers: standOut("pump-7")},
		"world/part": &web.MapPage{Overview: overview, BBox: &model.Box{-10, 30, 40, 70}, Sensors: sensors, Map: world,
			List: list},
		"world/date": &web.MapPage{BBox: &model.Box{170, -30, -170, 0}, Sensors: sensors, Map: world,
			List: list},
		"devices": &web.DevicesPage{Query: model.ListQuery{Filter: model.Filter{Tenant: "contoso", State: model.Held},
			Sensor: "temperature", After: "x", Sort: "value", Limit: 50}, Tenants: []string{"contoso"}, Sensors: sensors,
			List: list},
		"device": &web.DevicePage{Now: theTime(), Answer: heldDevice(), Span: "24h",
			Series: series("1m", time.Minute, 1440)},
		"device/overlay": &web.DevicePage{Now: theTime(), Answer: heldDevice(), Series: series("raw", 20*time.Second, 180),
			Overlays: []*model.Series{series("raw", time.Minute, 60), {Sensor: "humidity", Unit: "%", Window: "raw",
				From: theTime().Add(-time.Hour), To: theTime()}}},
		"device/states": &web.DevicePage{Now: theTime(), Answer: heldDevice(), Span: "1h", Series: states("open", "shut")},
		"device/raw": &web.DevicePage{Now: theTime(), Answer: heldDevice(),
			Series: series("raw", 20*time.Second, 180)},
		"device/incidents": &web.DevicePage{Now: theTime(), Answer: heldDevice(), Span: "24h",
			Series: series("1m", time.Minute, 1440), Incidents: incidents()},
		"device/commands": &web.DevicePage{Now: theTime(), Answer: heldDevice(), Commands: commands()},
		"incidents": &web.IncidentsPage{Now: theTime(), Query: model.IncidentQuery{Filter: model.Filter{Tenant: "contoso"},
			States: model.IncidentStates()}, Tenants: []string{"contoso"},
			Answer: model.Incidents{Rows: incidents(), Extent: model.Extent{Next: "x"}},
			Counts: &model.IncidentCounts{From: theTime().Add(-24 * time.Hour), Hours: []int{0, 3, 1}, More: true,
				Rules: []model.RuleCount{{Rule: "hot", Open: 1, Day: 4}}}},
		"incident": &web.IncidentPage{Now: theTime(), Answer: model.IncidentAnswer{IncidentHistory: answers.IncidentHistory{
			Incident:    incidents()[0],
			Transitions: []answers.Transition{{What: "opened", Text: "oil is 195", At: theTime()}},
			Notes:       []answers.IncidentNote{{What: "note", Who: "olga", Text: "the fan", At: theTime()}}}}},
		"pipelines": &web.PipelinesPage{Now: theTime(), Answer: model.PipelinesAnswer{Budget: spent(0.81),
			Pipelines: []model.PipelineStatus{pipeline("live", time.Minute), pipeline("archive", time.Hour)}}},
		"limits": limitsPage("requests a second", 0.81),
		"outliers": &web.OutliersPage{Tenants: []string{"contoso"}, List: standOut("pump-7"),
			Query: model.OutlierQuery{Filter: model.Filter{Site: "north"}}},
		"rules":   rulesPage("hot"),
		"config":  configurationPage("live"),
		"tenants": &web.TenantsPage{Answer: model.TenantsAnswer{Tenants: []model.Tenant{tenant, {Tenant: "x"}}}},
		"tenant": &web.TenantPage{Tenant: tenant, Day: "2026-11-20", Today: "2026-11-21", Sensors: sensors,
			Series: series("1h", time.Hour, 24), Cost: &costs("contoso").Tenants[0]},
		"retention": &web.RetentionPage{Answer: retention("contoso")},
		"archive": &web.ArchivePage{Now: theTime(), Tenants: []string{"contoso", "x"},
			Answer: archive("contoso", "")},
		"completeness": &web.CompletenessPage{Month: "2026-10", This: "2026-11", Now: theTime(),
			Answer: completeness("contoso", "")},
		"costs": &web.CostsPage{Month: "2026-10", Now: "2026-11", Costs: costs("contoso")},
		"costs/days": &web.CostsPage{Tenant: "contoso", Month: "2026-11", Now: "2026-11", ByDay: true,
			Costs: cost.Costs{Tenants: []cost.TenantCost{{Tenant: "contoso", Day: "2026-11-20", Devices: 3}}}},
		"report": &web.ReportPage{Tenant: "contoso", Day: "2026-11-20", Today: "2026-11-21", Sensors: sensors,
			Groups: []schema.By{schema.BySite, "labels.class"}, Summary: model.Summary{Series: *series("1h", time.Hour, 24),
				Period: "week", All: &model.GroupTotal{Devices: 12, Count: 960, Min: 1, Max: 9, Mean: 5}, By: "labels.class",
				Groups: []model.GroupTotal{{Group: "Fryer", Devices: 2, Count: 90, Min: 2, Max: 4, Mean: 3}},
				Outliers: model.Outliers{Compared: 12, Some: true, Devices: []model.MeanOutlier{
					{Device: "pump-7", Site: "north", Count: 80, Mean: 1, Median: 5, Score: -14.2, Neighbours: 11}}}}},
		"problem": &web.ProblemPage{Status: 404, Title: "Device not found", Detail: "There is no device x."},
	}
}

func limitsPage(name string, share float64) web.Page {
	return &web.LimitsPage{Limits: []model.StorageLimit{{Storage: name, Limit: limits.New(name, share, 2000, name)},
		{Storage: name, Limit: limits.New("the disk", share, 0, name)}}}
}

func rulesPage(name string) web.Page {
	return &web.RulesPage{Now: theTime(), Answer: model.RulesAnswer{Since: theTime(), More: true,
		Rules: []model.RuleStatus{{Rule: model.Rule{Name: name, Kind: name, When: name, Match: name, Severity: name,
			Notify: []string{name}}, Devices: -1, Open: 2, Month: 5}, {Rule: model.Rule{Name: "b"}, Devices: 3}},
		Mutes: []schema.Mute{{Rule: schema.Rule(name), Site: schema.Site(name), Device: name, Who: name, Text: name}, {}}}}
}

func configurationPage(name string) web.Page {
	return &web.ConfigurationPage{Now: theTime(), Generation: 2, Text: name, Diff: []string{"+" + name, "-" + name, name},
		History: []schema.Configuration{{Generation: 2, By: name, Change: name}, {Generation: 1}}}
}

// hostilePages returns pages with hostile texts and numbers wherever storage or an address could have them.
func hostilePages() map[string]web.Page {
	nan, inf := number(math.NaN()), number(math.Inf(1))
	long := strings.Repeat("a:very-long.name_", 8)
	points := []model.Point{{Time: theTime()}, {Time: theTime(), Value: nan},
		{Time: theTime(), Mean: inf, Min: number(math.Inf(-1)), Max: inf},
		{Time: theTime().Add(time.Hour), Mean: number(math.MaxFloat64), Min: number(-math.MaxFloat64)}}
	series := &model.Series{Sensor: nasty, Unit: nasty, Window: nasty, From: theTime(), To: theTime(), Points: points}
	sensors := []model.Sensor{{Name: nasty, Unit: nasty, Kind: nasty, Min: nan}, {Name: long}}
	row := model.Row{Device: nasty, Tenant: nasty, Site: nasty, Labels: map[string]string{nasty: nasty}, State: nasty,
		Value: nasty, Lat: number(1)}
	incident := answers.Incident{ID: nasty, Rule: nasty, Device: nasty, Tenant: nasty, Site: nasty, Severity: nasty,
		State: nasty, Value: nasty, Text: nasty, Reason: nasty, Labels: map[string]string{nasty: nasty}, Opened: theTime()}
	list := model.DeviceList{Next: nasty, Total: -1, Devices: []model.Row{row, {Device: long, Value: math.Inf(-1)}}}
	return map[string]web.Page{
		"world/hostile": &web.MapPage{Filter: model.Filter{Tenant: nasty, Site: nasty, Label: nasty, Text: nasty,
			State: nasty}, Sort: nasty, Overview: model.Overview{Devices: -1, LagSeconds: nan, ReadingsPerMinute: inf},
			Tenants: []string{nasty, long}, Sensors: sensors, Newest: []answers.Incident{incident}, Outliers: standOut(nasty),
			BBox: &model.Box{math.NaN(), 0, math.Inf(1), 0}, List: list,
			Map: model.Map{Sensor: nasty, Unit: nasty, Scale: &[2]float64{*nan, *inf}, Total: 3, InView: 3,
				Clusters: []model.Cluster{{ID: nasty, Lat: *nan, Lon: *inf, N: -1, Mean: nan, BBox: model.Box{*nan, 1, 0, 0}}},
				Devices: []model.Dot{{Device: nasty, Lat: 91, Lon: 500, Value: nasty, State: nasty},
					{Device: long, Value: *nan}}}},
		"devices/hostile": &web.DevicesPage{Query: model.ListQuery{Sensor: nasty, After: nasty, Sort: nasty, Limit: -1,
			Filter: model.Filter{Tenant: nasty, Site: nasty, Label: nasty, Text: nasty, State: nasty}}, Tenants: []string{nasty},
			Sensors: sensors, List: list},
		"device/hostile": &web.DevicePage{Now: theTime(), Span: nasty, Series: series, Answer: model.DeviceAnswer{
			State: nasty, Device: answers.Record{Device: nasty, Tenant: nasty, Site: nasty, Lat: nan, Lon: inf,
				Labels: map[string]string{nasty: nasty}, Month: nasty, Readings: nasty, Enrollment: nasty, Status: nasty,
				Tokens: []answers.Token{{Policy: nasty, Fingerprint: nasty}}},
			Latest: []model.Latest{latest(nasty, nasty, nasty), latest(long, *nan, "")},
			Pipelines: []model.DevicePipeline{{Pipeline: nasty, Checkpoint: nasty, LagSeconds: nan,
				Held: &model.Hold{Reason: nasty}}},
			Rejects:    []answers.Reject{{Row: nasty, Reason: nasty}},
			Unreadable: []model.Unreadable{{Table: nasty, Row: nasty, Reason: nasty}}}},
		"device states/hostile": &web.DevicePage{Now: theTime(), Series: states(nasty, long, "", nasty),
			Overlays: []*model.Series{series},
			Answer:   model.DeviceAnswer{Latest: []model.Latest{latest(nasty, 1.5, nasty)}}},
		"device incidents/hostile": &web.DevicePage{Now: theTime(), Series: series, Incidents: []answers.Incident{incident},
			Answer: model.DeviceAnswer{Device: answers.Record{Device: nasty}}},
		"device commands/hostile": &web.DevicePage{Now: theTime(), Answer: model.DeviceAnswer{
			Device: answers.Record{Device: nasty}}, Commands: api.Commands{Desired: &answers.Command{Body: nasty, Result: nasty},
			Commands: []answers.Command{{ID: nasty, State: nasty, Body: map[string]any{nasty: nasty}, Who: nasty, By: nasty,
				Incident: nasty, Result: nasty}}}},
		"incidents/hostile": &web.IncidentsPage{Query: model.IncidentQuery{Filter: model.Filter{Tenant: nasty, Site: nasty,
			Label: nasty, Text: nasty, Model: nasty}, Rule: nasty, Device: nasty, Severity: nasty, States: []string{nasty},
			Part: model.Part{After: nasty}}, Span: nasty,
			Tenants: []string{nasty},
			Answer:  model.Incidents{Rows: []answers.Incident{incident}, Extent: model.Extent{Next: nasty}},
			Counts:  &model.IncidentCounts{Hours: []int{-1}, Rules: []model.RuleCount{{Rule: nasty, Day: -1}}}},
		"incident/hostile": &web.IncidentPage{Now: theTime(), Answer: model.IncidentAnswer{
			IncidentHistory: answers.IncidentHistory{Incident: incident,
				Transitions: []answers.Transition{{What: nasty, Value: nasty, Text: nasty, Reason: nasty}},
				Notes:       []answers.IncidentNote{{What: nasty, Who: nasty, Text: nasty}}}}},
		"pipelines/hostile": &web.PipelinesPage{Answer: model.PipelinesAnswer{Budget: spent(*nan),
			Pipelines: []model.PipelineStatus{{
				Pipeline: nasty, CadenceSeconds: *nan, LagSeconds: inf, Workers: []model.Worker{{Name: nasty}},
				Causes:       []model.Cause{{What: nasty, Reason: nasty}},
				CostPerMonth: &model.Cost{Total: *nan, ByKind: map[string]float64{nasty: *inf}},
				Runs: []model.Run{{Skipped: nasty}, {Slot: theTime(), Seconds: *nan, LagSeconds: inf,
					Jobs: map[string]int64{nasty: -1}, Operations: map[string]int64{nasty: -1}}}}}}},
		"tenants/hostile": &web.TenantsPage{
			Answer: model.TenantsAnswer{Tenants: []model.Tenant{{Tenant: nasty, Devices: -1}, {Tenant: long}}}},
		"tenant/hostile": &web.TenantPage{Tenant: model.Tenant{Tenant: nasty, Silent: 1, Held: 1}, Day: nasty, Today: nasty,
			Sensors: sensors, Series: series},
		"retention/hostile": &web.RetentionPage{Tenant: nasty, Answer: retention(nasty)},
		"archive/hostile": &web.ArchivePage{Now: theTime(), Tenants: []string{nasty, long},
			Answer: archive(nasty, nasty)},
		"completeness/hostile": &web.CompletenessPage{Month: nasty, This: nasty, Now: theTime(),
			Answer: completeness(nasty, nasty)},
		"costs/hostile": &web.CostsPage{Tenant: nasty, Month: nasty, Now: nasty, Costs: costs(nasty)},
		"report/hostile": &web.ReportPage{Tenant: nasty, Day: nasty, Today: nasty, Sensors: sensors,
			Groups: []schema.By{nasty}, Summary: model.Summary{Series: *series, Period: nasty, By: nasty,
				All:    &model.GroupTotal{Devices: -1, Min: *nan, Max: *inf, Mean: *nan},
				Groups: []model.GroupTotal{{Group: nasty, Devices: -1, Min: *nan, Max: *inf}, {Group: long}},
				Outliers: model.Outliers{Devices: []model.MeanOutlier{{Device: nasty, Site: nasty, Mean: *nan,
					Score: *inf}, {Device: long}}}}},
		"limits/hostile": limitsPage(nasty, *nan),
		"outliers/hostile": &web.OutliersPage{Tenants: []string{nasty}, List: standOut(nasty),
			Query: model.OutlierQuery{By: nasty, Filter: model.Filter{Tenant: nasty, Site: nasty, Label: nasty, Text: nasty}}},
		"rules/hostile":   rulesPage(nasty),
		"config/hostile":  configurationPage(nasty),
		"problem/hostile": &web.ProblemPage{Status: -1, Title: nasty, Detail: nasty},
	}
}
