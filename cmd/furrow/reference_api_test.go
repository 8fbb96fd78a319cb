package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An apiDocument holds the parts of an OpenAPI file that the reference shows.
type apiDocument struct {
	Info       struct{ Title, Description string }
	Paths      ordered[ordered[apiOperation]]
	Components struct {
		Schemas    ordered[apiSchema]
		Parameters map[string]apiParameter
		Responses  map[string]apiResponse
	}
}

type apiOperation struct {
	Summary, Description string
	Parameters           []apiParameter
	Responses            ordered[apiResponse]
}

type apiParameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                apiSchema
}

type apiResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct{ Schema apiSchema }
}

type apiSchema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Description  string
	Enum                 []any
	Items                *apiSchema
	AdditionalProperties json.RawMessage
	Properties           ordered[apiSchema]
	Required             []string
}

// ordered is an object whose members keep their order.
type ordered[T any] []struct {
	name  string
	value T
}

func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	var values map[string]T
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
		key := name.(string)
		*o = append(*o, struct {
			name  string
			value T
		}{key, values[key]})
	}
	return nil
}

// apiPage renders an OpenAPI file.
func apiPage(t *testing.T, file string) string {
	t.Helper()
	var doc apiDocument
	must(t, json.Unmarshal([]byte(text(t, filepath.Join(root, file))), &doc))
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", doc.Info.Title, doc.Info.Description)
	for _, at := range doc.Paths {
		for _, method := range at.value {
			fmt.Fprintf(&b, "\n## %s %s\n\n", strings.ToUpper(method.name), at.name)
			method.value.write(&b, doc)
		}
	}
	writeFailures(&b, doc)
	for _, s := range doc.Components.Schemas {
		fmt.Fprintf(&b, "\n## %s\n\n", s.name)
		if s.value.Description != "" {
			fmt.Fprintf(&b, "%s\n\n", s.value.Description)
		}
		b.WriteString("| member | type | meaning |\n|---|---|---|\n")
		for _, p := range s.value.Properties {
			kind := p.value.kind()
			if !slices.Contains(s.value.Required, p.name) {
				kind += ", optional"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.name, kind, cell(p.value.about()))
		}
	}
	return b.String()
}

func (o apiOperation) write(b *strings.Builder, doc apiDocument) {
	fmt.Fprintf(b, "%s.", strings.TrimSuffix(o.Summary, "."))
	if o.Description != "" {
		b.WriteString(" " + o.Description)
	}
	b.WriteString("\n")
	if len(o.Parameters) > 0 {
		b.WriteString("\n| parameter | in | type | meaning |\n|---|---|---|---|\n")
		for _, p := range o.Parameters {
			if p.Ref != "" {
				p = doc.Components.Parameters[path.Base(p.Ref)]
			}
			kind := p.Schema.kind()
			if p.Required {
				kind += ", required"
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.In, kind, cell(p.Description))
		}
	}
	b.WriteString("\n| status | response |\n|---|---|\n")
	for _, r := range o.Responses {
		if r.value.Ref != "" {
			continue // of the failures below
		}
		about := r.value.Description
		for _, content := range r.value.Content {
			if content.Schema.Ref != "" {
				about = content.Schema.kind()
			}
		}
		fmt.Fprintf(b, "| %s | %s |\n", r.name, cell(about))
	}
}

// writeFailures writes what every operation may respond with.
func writeFailures(b *strings.Builder, doc apiDocument) {
	about := map[string]string{}
	for _, at := range doc.Paths {
		for _, method := range at.value {
			for _, r := range method.value.Responses {
				if r.value.Ref != "" {
					about[r.name] = doc.Components.Responses[path.Base(r.value.Ref)].Description
				}
			}
		}
	}
	b.WriteString("\n## Failures\n\nAn operation that fails responds with a problem (RFC 9457).\n\n" +
		"| status | code and meaning |\n|---|---|\n")
	for _, status := range slices.Sorted(maps.Keys(about)) {
		fmt.Fprintf(b, "| %s | %s |\n", status, cell(about[status]))
	}
}

// kind names the type of a value, and links to the table of an object.
func (s apiSchema) kind() string {
	switch {
	case s.Ref != "":
		name := path.Base(s.Ref)
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.Format == "date-time":
		return "time"
	}
	switch kind := fmt.Sprint(s.Type); kind {
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "<nil>":
		return "value"
	default:
		return strings.Trim(kind, "[]")
	}
}

// about is the description, with the values that a text may have.
func (s apiSchema) about() string {
	if len(s.Enum) == 0 {
		return s.Description
	}
	var values []string
	for _, v := range s.Enum {
		values = append(values, fmt.Sprintf("`%v`", v))
	}
	return strings.TrimSpace(s.Description + " One of " + strings.Join(values, ", ") + ".")
}
