package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A grafanaDashboard has the fields that Grafana reads of ours, by its JSON model with schema version 39.
// grafana.com: "Dashboard JSON model".
type grafanaDashboard struct {
	Title, UID, Timezone, Refresh string
	Tags                          []string
	SchemaVersion                 int
	Editable                      bool
	Time                          struct{ From, To string }
	Templating                    struct{ List []grafanaVariable }
	Panels                        []grafanaPanel
}

type grafanaSource struct{ Type, UID string }

type grafanaVariable struct {
	Name, Type, Label, Definition, AllValue string
	Datasource                              grafanaSource
	Query                                   any // the type of a data source, or a query
	IncludeAll, Multi                       bool
	Current                                 struct{ Text, Value string }
	Refresh, Sort                           int
}

type grafanaPanel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               grafanaSource
	Collapsed                bool
	Panels                   []grafanaPanel // of a row that is collapsed
	Targets                  []struct {
		Datasource                grafanaSource
		RefID, Expr, LegendFormat string
	}
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Min    *float64
			Custom struct {
				FillOpacity int
				ShowPoints  string
			}
		}
		Overrides []struct{}
	}
	Options struct {
		Legend  struct{ DisplayMode, Placement string }
		Tooltip struct{ Mode string }
	}
}

// grafanaProblems returns what Grafana would not understand, or would show in another way than it is meant.
func grafanaProblems(text string) (problems []string) {
	var d grafanaDashboard
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return []string{err.Error()}
	}
	say := func(p grafanaPanel, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("panel %d (%s): ", p.ID, p.Title)+fmt.Sprintf(format, args...))
	}
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if !slices.Contains([]string{"datasource", "query"}, v.Type) {
			problems = append(problems, fmt.Sprintf("variable %s has the type %q", v.Name, v.Type))
		}
	}
	cells, ids := map[[2]int]int{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			say(p, "its ID is not its own")
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x < 0 || x >= 24 || y < 0 {
					say(p, "it covers column %d, line %d, as panel %d does", x, y, other)
				}
				cells[[2]int{x, y}] = p.ID
			}
		}
		for _, problem := range panelProblems(p, variables) {
			say(p, "%s", problem)
		}
	}
	return problems
}

// panelProblems returns the problems of a panel by itself.
func panelProblems(p grafanaPanel, variables []string) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	units := []string{"bytes", "ops", "percentunit", "s", "short"} // grafana.com: "Standard options definitions"
	source := grafanaSource{"prometheus", "${datasource}"}
	switch {
	case p.Type == "row" && len(p.Targets) == 0 && !p.Collapsed && len(p.Panels) == 0:
		return nil
	case p.Type != "timeseries":
		say("its type is %q", p.Type)
	case p.Title == "" || len(p.Targets) == 0 || p.GridPos.W == 0 || p.GridPos.H == 0:
		say("it has no title, no query or no size")
	case p.Datasource != source:
		say("its data source is %v", p.Datasource)
	case !slices.Contains(units, p.FieldConfig.Defaults.Unit):
		say("its unit is %q", p.FieldConfig.Defaults.Unit)
	case p.FieldConfig.Defaults.Custom.ShowPoints != "never" || p.Options.Legend.DisplayMode != "list" ||
		p.Options.Legend.Placement != "bottom" || p.Options.Tooltip.Mode != "multi":
		say("its options are %+v", p.Options)
	}
	for i, q := range p.Targets {
		if q.RefID != string(rune('A'+i)) || q.Expr == "" || q.Datasource != source {
			say("query %d is %+v", i, q)
		}
		for _, name := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(q.Expr+q.LegendFormat, -1) {
			if !slices.Contains(variables, name[1]) {
				say("%s has the unknown variable %s", q.Expr, name[1])
			}
		}
		for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(q.LegendFormat, -1) {
			if !keepsLabel(q.Expr, label[1]) {
				say("%s has no label %s", q.Expr, label[1])
			}
		}
	}
	return problems
}

// keepsLabel reports whether the result of a query may have a label: an aggregation keeps those that it names.
func keepsLabel(expr, label string) bool {
	aggregates := regexp.MustCompile(`\b(sum|min|max|avg|count|topk|histogram_quantile)\b`).MatchString(expr)
	return !aggregates || regexp.MustCompile(`by \([^)]*\b`+label+`\b`).MatchString(expr)
}

// TestGrafanaUnderstandsTheDashboard also spoils the dashboard, so that each check is seen to fail.
func TestGrafanaUnderstandsTheDashboard(t *testing.T) {
	dashboard := text(t, "deploy/monitoring/dashboard.json")
	for _, problem := range grafanaProblems(dashboard) {
		t.Error(problem)
	}
	for _, spoil := range [][2]string{
		{`"gridPos"`, `"gridPosition"`},
		{`"schemaVersion": 39`, `"schemaVersion": "39"`},
		{`"type": "timeseries"`, `"type": "timeserie"`},
		{`"id": 2,`, `"id": 1,`},
		{`"x": 8`, `"x": 7`},
		{`"x": 18`, `"x": 20`},
		{`"unit": "s"`, `"unit": "seconds"`},
		{`"refId": "B"`, `"refId": "A"`},
		{`$pipeline`, `$pipelines`},
		{`"uid": "${datasource}"`, `"uid": "prometheus"`},
		{`by (`, `without (`},
		{`"placement": "bottom"`, `"placement": "below"`},
	} {
		spoiled := strings.ReplaceAll(dashboard, spoil[0], spoil[1])
		if spoiled == dashboard || len(grafanaProblems(spoiled)) == 0 {
			t.Errorf("%s in place of %s is not noticed", spoil[1], spoil[0])
		}
	}
}
