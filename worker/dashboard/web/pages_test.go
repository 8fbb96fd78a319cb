package web_test

import (
	"bytes"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
	"furrow/worker/limits"
)

func newPages(t testing.TB) *web.Site {
	t.Helper()
	p := must.Have(web.New(web.Config{}))(t)
	return p
}

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

// TestEveryPageHasItsTemplate: a page finds its template by the name of its type.
func TestEveryPageHasItsTemplate(t *testing.T) {
	var pages, templates []string
	all := slices.Collect(maps.Values(allPages()))
	for _, page := range append(all, &web.ActPage{}, &web.ActivityPage{}, &web.SignInPage{}) {
		name, _ := strings.CutSuffix(reflect.TypeOf(page).Elem().Name(), "Page")
		pages = append(pages, strings.ToLower(name)+".html")
	}
	slices.Sort(pages)
	for _, file := range must.Have(os.ReadDir("templates"))(t) {
		if !slices.Contains([]string{"base.html", "parts.html", "person.html"}, file.Name()) {
			templates = append(templates, file.Name())
		}
	}
	if pages = slices.Compact(pages); !slices.Equal(pages, templates) {
		t.Errorf("pages want %q; there are %q", pages, templates)
	}
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
			After: nasty}, Span: nasty,
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

// parsed parses a page as a browser without scripts does.
func parsed(t testing.TB, text string) *html.Node {
	t.Helper()
	root := must.Have(html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false)))(t)
	return root
}

func render(t testing.TB, p *web.Site, page web.Page) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, p.Render(&b, page))
	return b.String()
}

// TestPagesFollowThePolicy proves that no page has inline code or loads anything from elsewhere.
func TestPagesFollowThePolicy(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		text := render(t, p, page)
		root := parsed(t, text)
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "style" || n.Data == "script" && (attribute(n, "src") == "" || n.FirstChild != nil) {
				t.Errorf("%s: inline %s", name, n.Data)
			}
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s>", name, n.Data, a.Key)
				}
				if slices.Contains([]string{"href", "src", "action", "poster", "srcset"}, a.Key) && !strings.HasPrefix(a.Val,
					"/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%s: <%s %s=%q> leads elsewhere", name, n.Data, a.Key, a.Val)
				}
			}
		}
		for _, word := range []string{"NaN", "Inf", "%!", "ZgotmplZ", "<no value>"} {
			if strings.Contains(strings.ReplaceAll(text, `not a number: &#34;NaN&#34;`, ""), word) {
				t.Errorf("%s: it says %s: …%s…", name, word, around(text, word))
			}
		}
	}
}

func around(text, word string) string {
	i := strings.Index(text, word)
	return text[max(0, i-80):min(len(text), i+80)]
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// TestReferencesResolve proves that IDs are unique and that every reference has a target.
func TestReferencesResolve(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		root := parsed(t, render(t, p, page))
		ids := map[string]int{}
		var asked []string
		for n := range root.Descendants() {
			if n.Type == html.ElementNode {
				if id := attribute(n, "id"); id != "" {
					ids[id]++
				}
				for _, key := range []string{"aria-labelledby", "aria-describedby", "aria-controls", "for"} {
					asked = append(asked, strings.Fields(attribute(n, key))...)
				}
				if id, found := strings.CutPrefix(attribute(n, "href"), "#"); found {
					asked = append(asked, id)
				}
				switch n.Data {
				case "input", "select":
					if attribute(n, "type") != "hidden" && (n.Parent == nil || n.Parent.Data != "label") {
						t.Errorf("%s: a field without a label: %s", name, attribute(n, "name"))
					}
				case "button", "a":
					if words(n) == "" && attribute(n, "aria-label") == "" {
						t.Errorf("%s: a %s without a text: %v", name, n.Data, n.Attr)
					}
				}
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: %d elements have the ID %s", name, n, id)
			}
		}
		for _, id := range asked {
			if ids[id] == 0 {
				t.Errorf("%s: no element has the ID %q", name, id)
			}
		}
	}
}

func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestNamesAreEscapedEverywhere(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		if !strings.HasSuffix(name, "/hostile") {
			continue
		}
		text := render(t, p, page)
		if strings.Contains(text, "<script>alert") {
			t.Errorf("%s: a name became a script", name)
		}
		if !strings.Contains(text, "alert(1)") {
			t.Errorf("%s: a name is not shown", name)
		}
	}
}

// TestMapWorksWithoutScripts expects a base map, a link for each group and device, and the lists.
func TestMapWorksWithoutScripts(t *testing.T) {
	page := allPages()["world"].(*web.MapPage)
	text := render(t, newPages(t), page)
	links, rows, grounds := 0, 0, 0
	for n := range parsed(t, text).Descendants() {
		switch {
		case n.Data == "image" && strings.HasSuffix(attribute(n, "href"), "/world.svg"):
			grounds++
		case n.Data == "a" && n.Parent.Data == "svg" && attribute(n.Parent, "class") == "still":
			links++
		case n.Data == "tr" && n.Parent.Data == "tbody":
			rows++
		}
	}
	if marks := len(page.Map.Clusters) + len(page.Map.Devices); grounds != 1 || links != marks ||
		rows != len(page.Map.Clusters)+len(page.List.Devices) {
		t.Errorf("%d base maps, %d links for %d marks, %d rows", grounds, links, marks, rows)
	}
	withScripts := must.Have(html.Parse(strings.NewReader(text)))(t)
	for n := range withScripts.Descendants() {
		if attribute(n, "class") == "still" {
			t.Error("with scripts, there are two maps")
		}
	}
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	p := newPages(t)
	for name, say := range map[string]string{
		"world/empty": "furrow simulate", "devices/empty": "No devices yet", "device/empty": "No values yet",
		"pipelines/empty": "furrow up", "incidents/empty": "Rules in the configuration",
		"incident/empty": "Nobody has acknowledged", "pipeline/new": "No runs yet",
		"tenants/empty":  "appears with its first device",
		"tenant/empty":   "No sensors yet",
		"complete/empty": "Nothing is verified by itself", "archive/empty": "without a configuration",
		"archive/choose": "Choose a tenant", "archive/new": "when it is over",
	} {
		if text := render(t, p, allPages()[name]); !strings.Contains(text, say) {
			t.Errorf("%s does not say %q", name, say)
		}
	}
}

func TestPolicyAllowsNothingUnsafe(t *testing.T) {
	for _, word := range []string{"unsafe", "*", "http:", "https:", "blob:", "data:"} {
		if strings.Contains(web.Policy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
	for _, rule := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'",
		"script-src 'self'", "style-src 'self'"} {
		if !strings.Contains(web.Policy, rule) {
			t.Errorf("the policy lacks %s", rule)
		}
	}
}

// TestStaticFilesAreNamedByTheirHash requests every file that a page or a script names, and others.
func TestStaticFilesAreNamedByTheirHash(t *testing.T) {
	p := newPages(t)
	s := httptest.NewServer(p.Static())
	defer s.Close()
	named := regexp.MustCompile(`/static/[0-9a-f]{16}/[a-z.]+`)
	seen := map[string]bool{}
	ask := func(address string) string {
		seen[address] = true
		got := must.Have(http.Get(s.URL + address))(t)
		defer got.Body.Close()
		body := must.Have(io.ReadAll(got.Body))(t)
		if got.StatusCode != http.StatusOK || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s %v", address, got.Status, got.Header)
		}
		return string(body)
	}
	for _, page := range allPages() {
		for _, address := range named.FindAllString(render(t, p, page), -1) {
			if seen[address] {
				continue
			}
			text := ask(address)
			beside := address[:strings.LastIndex(address, "/")+1]
			for _, more := range regexp.MustCompile(`from "\./([a-z]+\.js)"`).FindAllStringSubmatch(text, -1) {
				ask(beside + more[1])
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d files are named: %v", len(seen), seen)
	}
	for _, wrong := range []string{"/static/0123456789abcdef/furrow.css", "/static/furrow.css", "/static/",
		"/static/../pages.go"} {
		got := must.Have(http.Get(s.URL + wrong))(t)
		got.Body.Close()
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", wrong, got.Status)
		}
	}
}

// standOut returns a device that stands out, and says that there is another one.
func standOut(device string) model.OutlierList {
	return model.OutlierList{Compared: 2000, Total: 2, Rows: []answers.Outlier{{Device: device, Tenant: device,
		Site: device, Kind: "off", Sensor: device, Value: number(31.5), Unit: device, Median: number(8.2), Score: number(157),
		Neighbours: 12, Group: device, Text: device}}}
}
