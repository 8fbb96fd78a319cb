package api

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/comments"
	"furrow/tables/azuretest/must"
	"furrow/worker/answers"
)

var update = flag.Bool("update", false, "write openapi.json instead of comparing it")

// TestOpenAPIIsFresh generates the document from operations, parameters, and the types of the answers with their
// comments. After a change of these:
//
//	go test -run TestOpenAPIIsFresh ./worker/dashboard/api -update
func TestOpenAPIIsFresh(t *testing.T) {
	g := generator{comments: comments.Of(t, "../../.."), schemas: map[string]any{}, types: map[string]reflect.Type{}}
	fresh := must.Have(json.MarshalIndent(g.document(), "", " "))(t)
	if fresh = append(fresh, '\n'); *update {
		must.Succeed(t, os.WriteFile("openapi.json", fresh, 0o644))
	} else if !bytes.Equal(fresh, description) {
		t.Error("openapi.json is stale: run this test with -update")
	}
}

// A parameter is what routes take in their paths and queries.
type parameter struct{ name, in, schema, about string }

// An operation is a method of a route.
type operation struct {
	route, id, summary, about string
	takes                     string // names of parameters, separated by spaces
	body                      string // name of a request's schema
	answer                    any
	rows                      []any  // of an answer in other formats, too
	events                    []any  // of a stream
	tagged                    bool   // the answer has an ETag
	media                     string // of an answer that is a file
	conflict                  bool   // it can be refused for what is stored
}

// either is an answer that is one of two types. Of a choice, clients in Java and those of typescript-fetch lose values
// or fail, so its schema has the members of both: those that only one has are optional, and tell it from the other.
type either struct {
	name string
	a, b any
}

type object map[string]any

// An ordered object has its members in an order that readers of the document want.
type ordered []orderedMember

type orderedMember struct {
	name  string
	value any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		name, errName := json.Marshal(m.name)
		value, err := json.Marshal(m.value)
		if err = cmp.Or(errName, err); err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// A generator makes the document. Names of schemas are those of types, unless generators of clients take these for
// something of their own.
type generator struct {
	comments *comments.Comments
	schemas  map[string]any
	types    map[string]reflect.Type // that have schemas
}

func renamed(name string) string {
	if other, is := map[string]string{"Map": "WorldMap", "Record": "DeviceRecord", "Token": "IssuedToken",
		"Sensors": "SensorList", "Newest": "LatestAnswer", "NewestValues": "LatestValues", "NewestValue": "LatestValue",
		"NewestRate": "LatestRate", "Problem": "ProblemDetails", "Tenant": "TenantStatus",
		"Commands": "DeviceCommands"}[name]; is {
		return other
	}
	return name
}

func (g *generator) document() object {
	var paths ordered
	methods := map[string]object{} // by path
	for _, o := range operations() {
		method, path, has := strings.Cut(o.route, " ")
		if !has {
			method, path = "get", o.route
		}
		if methods[path] == nil {
			methods[path] = object{}
			paths = append(paths, orderedMember{path, methods[path]})
		}
		methods[path][strings.ToLower(method)] = g.operation(o)
	}
	failures := object{}
	for _, f := range failed() {
		failures[f.name] = object{"description": f.about,
			"headers": object{"X-Request-Id": header("The request's ID in the log.", "string")},
			"content": content("application/problem+json", g.schema(reflect.TypeFor[Problem]()))}
	}
	all := object{}
	for name, p := range parameters() {
		all[name+"Parameter"] = object{"name": p.name, "in": p.in, "required": p.in == "path", "description": p.about,
			"schema": json.RawMessage(p.schema)}
	}
	return object{"openapi": "3.1.0", "info": information(), "paths": paths,
		"servers":  []object{{"url": "/", "description": "The dashboard that serves this document."}},
		"security": []object{{}, {"password": []string{}}, {"token": []string{}}},
		"components": object{"securitySchemes": object{"password": object{"type": "http", "scheme": "basic"},
			"token": object{"type": "http", "scheme": "bearer"}}, "parameters": all, "responses": failures,
			"schemas": g.schemas}}
}

func (g *generator) operation(o operation) object {
	good := object{"description": "OK"}
	out := object{"operationId": o.id, "summary": o.summary, "tags": []string{tagOf(o.route)}}
	answers := object{"200": good}
	switch {
	case o.events != nil:
		good["content"] = content("text/event-stream", object{"type": "string", "description": g.events(o.events)})
	case o.rows != nil:
		good["headers"], good["content"] = extent(), g.formats(o)
	case o.media != "":
		good["content"] = content(o.media, object{"type": "string", "format": "binary"})
	default:
		good["content"] = content("application/json", g.answer(o.answer))
	}
	if o.tagged {
		answers["304"] = object{"description": "Not modified since the ETag in If-None-Match."}
	}
	for _, f := range failed() {
		if o.conflict || f.name != "Conflict" {
			answers[f.status] = object{"$ref": "#/components/responses/" + f.name}
		}
	}
	out["responses"] = answers
	if o.about != "" {
		out["description"] = o.about
	}
	if o.body != "" {
		g.schemas[o.body] = json.RawMessage(requests()[o.body])
		out["requestBody"] = object{"required": o.body != "AckRequest",
			"content": content("application/json", object{"$ref": "#/components/schemas/" + o.body})}
	}
	if o.id == "healthz" {
		out["security"] = []object{}
	}
	var takes []object
	for name := range strings.FieldsSeq(o.takes) {
		takes = append(takes, object{"$ref": "#/components/parameters/" + name + "Parameter"})
	}
	if takes != nil {
		out["parameters"] = takes
	}
	return out
}

// tagOf groups operations in the clients that are generated.
func tagOf(route string) string {
	_, path, _ := strings.Cut(route, "/")
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "v1/"), "/"); first {
	case "devices", "incidents", "tenants":
		return first
	case "openapi.json", "healthz":
		return "service"
	}
	return "fleet"
}

// formats returns what an answer with rows is in each format.
func (g *generator) formats(o operation) object {
	var columns []string
	for _, row := range o.rows {
		var header strings.Builder
		_ = answers.NewWriter(answers.CSV, &header, row, nil).End() // into memory
		columns = append(columns, strings.ReplaceAll(strings.TrimSpace(header.String()), ",", ", "))
	}
	all := content("application/json", g.answer(o.answer))
	all["application/x-ndjson"] = schemaOf(object{"type": "string",
		"description": "An object per line, as the members of rows."})
	all["text/csv"] = schemaOf(object{"type": "string",
		"description": "Columns: " + strings.Join(columns, "; or ") + "."})
	all["application/vnd.apache.arrow.stream"] = schemaOf(object{"type": "string", "format": "binary",
		"description": "The columns of CSV, with types."})
	return all
}

// events also adds the schemas of these.
func (g *generator) events(all []any) string {
	var names []string
	for _, e := range all {
		g.schema(reflect.TypeOf(e))
		names = append(names, renamed(reflect.TypeOf(e).Name()))
	}
	return "The data of each event is JSON: " + strings.Join(names, " or ") + "."
}

func schemaOf(schema any) object { return object{"schema": schema} }

func content(kind string, schema any) object { return object{kind: schemaOf(schema)} }

func header(about, kind string) object {
	schema := object{"type": kind}
	if kind == "integer" {
		schema["format"] = "int64"
	}
	return object{"description": about, "schema": schema}
}

func (g *generator) answer(of any) object {
	if two, is := of.(either); is {
		return g.union(two.name, reflect.TypeOf(two.a), reflect.TypeOf(two.b))
	}
	return g.schema(reflect.TypeOf(of))
}

// union adds the schema of what is of one of two types.
func (g *generator) union(name string, a, b reflect.Type) object {
	inA, inB := membersOf(a), membersOf(b)
	properties, required := ordered{}, []string{}
	for n, m := range slices.Concat(inA, inB) {
		i := slices.IndexFunc(inA, m.named)
		j := slices.IndexFunc(inB, m.named)
		if n >= len(inA) && i >= 0 {
			continue // of both
		}
		schema := g.property(m)
		switch {
		case i < 0 || j < 0 || inA[i].of == inB[j].of:
		case sensorsOf(inA[i].of) != nil:
			schema["additionalProperties"] = g.union("QueryValue", sensorsOf(inA[i].of), sensorsOf(inB[j].of))
		default:
			schema["items"] = g.union("QueryRow", inA[i].of.Elem(), inB[j].of.Elem())
		}
		properties = append(properties, orderedMember{m.name, schema})
		if i >= 0 && j >= 0 && !m.optional && !inB[j].optional {
			required = append(required, m.name)
		}
	}
	g.schemas[name] = object{"type": "object", "properties": properties, "required": required}
	return object{"$ref": "#/components/schemas/" + name}
}

// schema returns that of a type. A struct has one with a name.
func (g *generator) schema(of reflect.Type) object {
	switch {
	case of.Kind() == reflect.Pointer:
		return g.schema(of.Elem())
	case of == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case of == reflect.TypeFor[json.RawMessage]() || of.Kind() == reflect.Interface:
		return object{}
	case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case sensorsOf(of) != nil:
		return object{"type": "object", "additionalProperties": g.schema(sensorsOf(of))}
	}
	switch of.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.schema(of.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": g.schema(of.Elem()), "minItems": of.Len(), "maxItems": of.Len()}
	case reflect.Slice:
		return object{"type": "array", "items": g.schema(of.Elem())}
	case reflect.Struct:
		g.add(of)
		return object{"$ref": "#/components/schemas/" + renamed(of.Name())}
	}
	return object{"type": "integer", "format": "int64"}
}

func (g *generator) add(of reflect.Type) {
	name := renamed(of.Name())
	if known, is := g.types[name]; is {
		if known != of {
			panic("two types have the schema " + name)
		}
		return
	}
	g.types[name] = of
	properties, required := ordered{}, []string{}
	for _, m := range membersOf(of) {
		if properties = append(properties, orderedMember{m.name, g.property(m)}); !m.optional {
			required = append(required, m.name)
		}
	}
	schema := object{"type": "object", "properties": properties, "required": required}
	if about := g.comments.Type(of); about != "" {
		schema["description"] = about
	}
	g.schemas[name] = schema
}

// A member is a field, perhaps of an embedded struct.
type member struct {
	name     string
	optional bool
	field    reflect.StructField
	of       reflect.Type // of the field
	owner    reflect.Type
}

func (m *member) named(other member) bool { return m.name == other.name }

func membersOf(of reflect.Type) (all []member) {
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, membersOf(f.Type)...)
		case name != "" && name != "-":
			all = append(all, member{name, strings.Contains(options, "omit"), f, f.Type, of})
		}
	}
	return all
}

// property returns the schema of a member. One that is nil and not absent is null.
func (g *generator) property(m member) object {
	schema := g.schema(m.of)
	if kind, is := schema["type"]; is && m.of.Kind() == reflect.Pointer && !m.optional {
		schema["type"] = []any{kind, "null"}
	}
	if values := m.field.Tag.Get("enum"); values != "" {
		schema["enum"] = strings.Fields(values)
	}
	if about := g.comments.Field(m.owner, m.field.Name); about != "" {
		schema["description"] = sentence(about)
	}
	return schema
}

func sentence(text string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// sensorsOf returns what a BySensor has of each sensor, or nil for other types.
func sensorsOf(of reflect.Type) reflect.Type {
	if all, is := reflect.Zero(of).Interface().(interface{ ValueType() reflect.Type }); is {
		return all.ValueType()
	}
	return nil
}
