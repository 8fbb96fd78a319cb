package api

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/azuretest/must"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/model"
)

type openAPIDocument struct {
	OpenAPI string
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		Parameters []struct{ Name, In string }
	}
	Components struct {
		Responses map[string]struct{ Description string }
		Schemas   map[string]struct {
			Required   []string
			Properties map[string]struct{ Enum []string }
		}
	}
}

// TestOpenAPIDescribesEveryRoute also compares the parameters and the problem codes.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	var doc openAPIDocument
	if err := json.Unmarshal(description, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("version %q, %v", doc.OpenAPI, err)
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "/" {
		t.Errorf("the servers are %+v", doc.Servers)
	}
	n, inPath := 0, regexp.MustCompile(`{(\w+)}`)
	for _, r := range New(nil, []admin.Fleet{{}}, access.Log{}, nil).Routes() {
		n++
		method, pattern, has := strings.Cut(r.Pattern, " ")
		if !has {
			method, pattern = "get", r.Pattern
		}
		get, ok := doc.Paths[pattern][strings.ToLower(method)]
		if !ok {
			t.Errorf("the document lacks %s", r.Pattern)
		}
		var query, inIt []string
		for _, p := range get.Parameters {
			if p.In == "query" {
				query = append(query, p.Name)
			} else {
				inIt = append(inIt, p.Name)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(query)), slices.Sorted(slices.Values(r.Params))) {
			t.Errorf("%s takes %q; the document says %q", r.Pattern, r.Params, query)
		}
		for _, m := range inPath.FindAllStringSubmatch(r.Pattern, -1) {
			if !slices.Contains(inIt, m[1]) {
				t.Errorf("%s: the document lacks the path parameter %s", r.Pattern, m[1])
			}
		}
	}
	described := 0
	for _, methods := range doc.Paths {
		described += len(methods)
	}
	if described != n {
		t.Errorf("the document has %d routes; there are %d", described, n)
	}
	listed := doc.Components.Schemas["Problem"].Properties["code"].Enum
	for code := range statuses() {
		described := false
		for _, r := range doc.Components.Responses {
			described = described || strings.Contains(r.Description, string(code))
		}
		if !slices.Contains(listed, string(code)) || !described {
			t.Errorf("the document lacks the code %s", code)
		}
	}
}

func TestOpenAPIDescribesEveryTypeAndMember(t *testing.T) {
	var doc openAPIDocument
	must.Succeed(t, json.Unmarshal(description, &doc))
	seen := map[string]bool{"Status": true}
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		if sensors, is := reflect.Zero(of).Interface().(interface{ ValueType() reflect.Type }); is {
			of = sensors.ValueType()
		}
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		name := of.Name()
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || seen[name] {
			return
		}
		seen[name] = true
		schema, ok := doc.Components.Schemas[name]
		if !ok {
			t.Errorf("the document lacks the schema %s", name)
			return
		}
		n := 0
		for _, field := range reflect.VisibleFields(of) {
			if !field.IsExported() || field.Anonymous {
				continue
			}
			n++
			member, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if _, ok := schema.Properties[member]; !ok {
				t.Errorf("the schema %s lacks the member %q", name, member)
			}
			if slices.Contains(schema.Required, member) == strings.Contains(options, "omit") {
				t.Errorf("%s.%s: required in the document, optional in Go, or the reverse", name, member)
			}
			check(field.Type)
		}
		if len(schema.Properties) != n {
			t.Errorf("%s has %d members in the document and %d in Go", name, len(schema.Properties), n)
		}
	}
	for _, of := range []any{model.Overview{}, answers.Reading{}, model.Sensors{}, model.Map{}, model.Change{},
		model.DeviceList{}, model.DeviceAnswer{}, model.Readings{}, model.Gaps{}, model.Windows{}, model.Newest{},
		model.Reports{}, model.Summary{}, model.Series{}, model.PipelinesAnswer{}, model.TenantsAnswer{},
		model.Incidents{}, model.IncidentAnswer{}, model.IncidentChange{}, Activity{}, Commands{},
		cost.Costs{}, model.Retention{}, model.Archive{}, model.Completeness{}, Problem{}} {
		check(reflect.TypeOf(of))
	}
	for name := range doc.Components.Schemas {
		if !seen[name] {
			t.Errorf("there is no type for the schema %s", name)
		}
	}
}
