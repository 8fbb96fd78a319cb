package dashboard

import (
	"encoding/json"
	"furrow/worker/dashboard/model"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

type openAPIDocument struct {
	OpenAPI string
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

// TestOpenAPIHasEveryRouteOfTheMux asks the mux itself for the data's routes, and
// compares what each takes and gives.
func TestOpenAPIHasEveryRouteOfTheMux(t *testing.T) {
	var doc openAPIDocument
	if err := json.Unmarshal(description, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("version %q, %v", doc.OpenAPI, err)
	}
	n, inPath := 0, regexp.MustCompile(`{(\w+)}`)
	for _, r := range routes() {
		if r.page {
			continue
		}
		n++
		get, ok := doc.Paths[r.pattern]["get"]
		if !ok {
			t.Errorf("it does not have %s", r.pattern)
		}
		var query, path []string
		for _, p := range get.Parameters {
			if p.In == "query" {
				query = append(query, p.Name)
			} else {
				path = append(path, p.Name)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(query)), slices.Sorted(slices.Values(r.asks))) {
			t.Errorf("%s takes %q, and it says %q", r.pattern, r.asks, query)
		}
		for _, m := range inPath.FindAllStringSubmatch(r.pattern, -1) {
			if !slices.Contains(path, m[1]) {
				t.Errorf("%s: it does not say what %s is", r.pattern, m[1])
			}
		}
	}
	if len(doc.Paths) != n {
		t.Errorf("it has %d paths; there are %d", len(doc.Paths), n)
	}
	listed := doc.Components.Schemas["Problem"].Properties["code"].Enum
	for code := range codes() {
		described := false
		for _, r := range doc.Components.Responses {
			described = described || strings.Contains(r.Description, string(code))
		}
		if !slices.Contains(listed, string(code)) || !described {
			t.Errorf("it does not have the code %s", code)
		}
	}
}

// TestOpenAPIHasEveryMember goes through the answers, and what is in them.
func TestOpenAPIHasEveryMember(t *testing.T) {
	var doc openAPIDocument
	if err := json.Unmarshal(description, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"Status": true}
	var check func(of reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		name := of.Name()
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || seen[name] {
			return
		}
		if of == reflect.TypeFor[problem]() {
			name = "Problem"
		}
		seen[name] = true
		schema, ok := doc.Components.Schemas[name]
		if !ok {
			t.Errorf("it has no schema %s", name)
			return
		}
		for i := range of.NumField() {
			member, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if _, ok := schema.Properties[member]; !ok {
				t.Errorf("%s has no member %q", name, member)
			}
			if slices.Contains(schema.Required, member) == strings.Contains(options, "omit") {
				t.Errorf("%s.%s: whether it is required is not what the code does", name, member)
			}
			check(of.Field(i).Type)
		}
		if len(schema.Properties) != of.NumField() {
			t.Errorf("%s has %d members; there are %d", name, len(schema.Properties), of.NumField())
		}
	}
	for _, of := range []any{model.Sensors{}, model.Map{}, model.Change{}, model.DeviceList{}, model.DeviceAnswer{}, model.Series{}, model.PipelinesAnswer{}, model.TenantsAnswer{}, problem{}} {
		check(reflect.TypeOf(of))
	}
	for name := range doc.Components.Schemas {
		if !seen[name] {
			t.Errorf("nothing is a %s", name)
		}
	}
}
