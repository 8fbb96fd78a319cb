package endpoint

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furrow/sas"
)

type openAPIDocument struct {
	OpenAPI    string
	Paths      map[string]map[string]struct{ Responses map[string]any }
	Components struct {
		Responses map[string]struct{ Description string }
		Schemas   map[string]struct {
			Required   []string
			Properties map[string]struct{ Description string }
		}
	}
}

func TestOpenAPIHasEverything(t *testing.T) {
	h, _ := mustNew(t, Config{})
	w := ask(h, httptest.NewRequest("GET", "/openapi.json", nil))
	var doc openAPIDocument
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("version %q, %v", doc.OpenAPI, err)
	}
	for _, r := range routes() {
		if _, ok := doc.Paths[r.path][strings.ToLower(r.method)]; !ok {
			t.Errorf("it does not have %s %s", r.method, r.path)
		}
	}
	if len(doc.Paths) != len(routes()) {
		t.Errorf("it has %d paths; there are %d", len(doc.Paths), len(routes()))
	}
	_, list, _ := strings.Cut(doc.Components.Schemas["Problem"].Properties["code"].Description, "They are ")
	listed := strings.FieldsFunc(strings.Replace(list, " and ", ", ", 1),
		func(r rune) bool { return strings.ContainsRune(", .", r) })
	for code := range codes() {
		described := false
		for _, r := range doc.Components.Responses {
			described = described || strings.Contains(r.Description, string(code))
		}
		if !slices.Contains(listed, string(code)) || !described {
			t.Errorf("it does not have the code %s", code)
		}
	}
	if len(listed) != len(codes()) {
		t.Errorf("it has %d codes; there are %d", len(listed), len(codes()))
	}
	wantMembers(t, doc, "Answer", reflect.TypeFor[sas.Answer]())
	wantMembers(t, doc, "Problem", reflect.TypeFor[problem]())
}

func wantMembers(t *testing.T, doc openAPIDocument, name string, of reflect.Type) {
	t.Helper()
	schema := doc.Components.Schemas[name]
	for i := range of.NumField() {
		member, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if _, ok := schema.Properties[member]; !ok {
			t.Errorf("%s has no member %q", name, member)
		}
		if slices.Contains(schema.Required, member) == strings.Contains(options, "omit") {
			t.Errorf("%s.%s: whether it is required is not what the code does", name, member)
		}
	}
	if len(schema.Properties) != of.NumField() {
		t.Errorf("%s has %d members; there are %d", name, len(schema.Properties), of.NumField())
	}
}
