package api

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furrow/sas/access"
	"furrow/tables/azuretest/must"
	"furrow/worker/admin"
)

// TestOpenAPIDescribesEveryRoute compares the parameters of each, too.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	known, described := parameters(), operations()
	inPath := regexp.MustCompile(`{(\w+)}`)
	routes := New(nil, []admin.Fleet{{}}, access.Log{}, nil).Routes()
	for _, r := range routes {
		i := slices.IndexFunc(described, func(o operation) bool { return o.route == r.Pattern })
		if i < 0 {
			t.Errorf("the document lacks %s", r.Pattern)
			continue
		}
		var query, inIt []string
		for name := range strings.FieldsSeq(described[i].takes) {
			switch p := known[name]; p.in {
			case "query":
				query = append(query, p.name)
			case "path":
				inIt = append(inIt, p.name)
			default:
				t.Errorf("%s: there is no parameter %s", r.Pattern, name)
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
	if len(described) != len(routes) {
		t.Errorf("the document has %d routes; there are %d", len(described), len(routes))
	}
	for code, status := range statuses() {
		if !slices.ContainsFunc(failed(), func(f failure) bool {
			return strings.HasPrefix(f.about, string(code)+":") && f.status == strconv.Itoa(status)
		}) {
			t.Errorf("the document lacks the code %s", code)
		}
	}
}

// TestOpenAPIIsReadByGenerators holds the document to what generators of clients understand. Each rule was learned from
// one that made wrong clients of a document without it, most of them without a word.
func TestOpenAPIIsReadByGenerators(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	must.Succeed(t, json.Unmarshal(description, &doc))
	core := []string{"Map", "List", "Set", "Record", "Object", "Date", "Error", "Function", "String", "Number", "Password",
		"Token"} // the last two are also security schemes
	for name, schema := range doc.Components.Schemas {
		_, own := schema.Properties[strings.ToLower(name[:1])+name[1:]]
		if slices.Contains(core, name) || strings.HasPrefix(name, "New") || own {
			t.Errorf("the schema %s has a name that languages have for something else", name)
		}
	}
	var whole any
	must.Succeed(t, json.Unmarshal(description, &whole))
	walk(whole, "", func(at string, o map[string]any) {
		types, several := o["type"].([]any)
		switch {
		case o["oneOf"] != nil || o["anyOf"] != nil:
			t.Errorf("%s is a choice", at)
		case several && (len(types) != 2 || types[1] != "null"):
			t.Errorf("%s has the types %v", at, types)
		case (o["type"] == "integer" || o["type"] == "number") && o["format"] == nil && !strings.Contains(at, "/parameters/"):
			t.Errorf("%s is a number without its size", at)
		}
		values, _ := o["enum"].([]any)
		for _, v := range values {
			if strings.Contains(v.(string), "-") {
				t.Errorf("%s has the value %s, which is no name in most languages", at, v)
			}
		}
	})
}

// walk calls visit for each object of a document.
func walk(v any, at string, visit func(at string, o map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(at, v)
		for name, below := range v {
			walk(below, at+"/"+name, visit)
		}
	case []any:
		for _, below := range v {
			walk(below, at, visit)
		}
	}
}
