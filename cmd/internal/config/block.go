package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"furrow/jobs/notify"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A key is a key of a block of the file. It is declared once, as a field with tags of the block's struct, and reading,
// checking, showing, comparing and documenting a block go through its keys:
//
//	type Verify struct {
//		Sample float64         `yaml:"sample,required" is:"share" want:"a share of the devices, such as 1%"`
//		Every  time.Duration   `yaml:"every" least:"1d" most:"31d" step:"1d" default:"1d"`
//		Notify []schema.Target `yaml:"notify,flow"`
//	}
//
// The tag yaml has the name, and then perhaps required, flow (shown in one line) or late (read after the others, as it
// needs them). The type of the field and its other tags say what the value may be: see field. What no tag can say, such
// as which keys exclude each other, is in a method check of the struct.
type key struct {
	name     string
	must     bool        // it is required
	late     bool        // it is read after the others
	fallback string      // its default, as in a file
	zero     func() bool // it is not shown, as it has no value
	kind
}

// A kind is how a value is written in a file.
type kind struct {
	want  string // what a problem says is wanted
	read  func(ast.Node)
	shown func() any   // for YAML and JSON
	keys  func() []key // of a block within, or of each item; nil: it has none
	item  string       // what stands for an item in the path to such a key
}

// keysOf returns the keys of a block, a pointer to a struct. Without a reader, they can be shown and not read.
func keysOf(r *reader, block any) (all []key) {
	for of, v := range reflect.ValueOf(block).Elem().Fields() {
		tag, is := of.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case options == "inline":
			all = append(all, oneOf(r, v)...)
		case of.Anonymous && !is:
			all = append(all, keysOf(r, reflect.Indirect(v).Addr().Interface())...)
		case name != "" && name != "-":
			k := key{name: name, must: options == "required", late: options == "late", fallback: of.Tag.Get("default"),
				zero: func() bool { return v.IsZero() || of.Type.Kind() == reflect.Slice && v.Len() == 0 }}
			k.kind = field{r, name, of.Tag}.kind(v)
			if shown := k.shown; options == "flow" {
				k.shown = func() any { return flowed(shown().([]string)) }
			}
			all = append(all, k)
		}
	}
	return all
}

// setDefaults gives a block the defaults of its keys.
func setDefaults(block any) {
	r := &reader{left: maxNodes}
	for _, k := range keysOf(r, block) {
		if k.fallback == "" {
			continue
		}
		text, err := parser.ParseBytes([]byte(k.fallback), 0)
		if err == nil {
			k.read(text.Docs[0].Body)
		}
		if err != nil || r.said > 0 {
			panic(fmt.Sprintf("config: the default of %s is wrong: %v, %v", k.name, err, r.problems))
		}
	}
}

// block reads a block into a pointer to a struct, and checks it. Problems of several keys together are at the node at.
func (r *reader) block(to any, at, n ast.Node, want string) {
	before := r.said
	setDefaults(to)
	r.object(n, want, keysOf(r, to)...)
	r.check(to, at, n, before)
}

// A checker checks what tags cannot say of a block or list that was read from n. It is clean if it had no problems yet.
type checker interface {
	check(r *reader, at, n ast.Node, clean bool)
}

// check checks what was read since there were so many problems, unless aliases stand for too much, which Parse reports.
func (r *reader) check(what any, at, n ast.Node, before int) {
	if r.left == 0 {
		return
	}
	clean := r.said == before
	switch what := what.(type) {
	case checker:
		what.check(r, at, n, clean)
	case *notify.Target:
		r.checkTarget(what, at, n, clean)
	case interface{ Check() error }:
		if clean {
			r.mistake(at, what.Check())
		}
	}
}

// structKind is the kind of a block within a block.
func (f field) structKind(v reflect.Value) kind {
	want, to := f.tag.Get("want"), func() any { return v.Addr().Interface() }
	return kind{want: want,
		read:  func(n ast.Node) { f.r.within(f.name, func() { f.r.block(to(), n, n, want) }) },
		shown: func() any { return shown(to()) },
		keys:  func() []key { return keysOf(nil, to()) }}
}

// pointerKind is the kind of a block that may be absent.
func (f field) pointerKind(v reflect.Value) kind {
	of := func() reflect.Value {
		if v.IsNil() {
			return reflect.New(v.Type().Elem()).Elem()
		}
		return v.Elem()
	}
	k := f.structKind(of())
	k.read = func(n ast.Node) {
		v.Set(reflect.New(v.Type().Elem()))
		f.structKind(v.Elem()).read(n)
	}
	return k
}

// wordsOf returns what problems call a block in a list or map, what they want of all of these, and of one.
func wordsOf(of reflect.Type) (label, all, one string) {
	const model = "{match: {labels.class: Fryer}, sensors: {oil: number}}"
	const keep = "{match: {tenant: contoso}, readings: 30d, rollups: {15m: 14d}}"
	const hook = "{webhook: {url: https://ops.example/hook, secretFile: /run/secrets/ops}"
	switch of {
	case reflect.TypeFor[Pipeline]():
		return "pipeline", "a list of pipelines", "a map with at least name and processors"
	case reflect.TypeFor[Model]():
		return "model", "a map of models, such as fryer: " + model, "a map like " + model
	case reflect.TypeFor[rules.Rule]():
		return "rule", "a map of rules, such as hot: {when: {threshold: {sensor: oil, above: 190, for: 5m}}}",
			"a map like {when: {silence: {after: 1h}}, severity: critical}"
	case reflect.TypeFor[notify.Target]():
		return "notify", "a map of targets, such as ops: " + hook + "}", "a map like " + hook + ", repeat: 24h}"
	}
	return "retention", "a list of maps such as " + keep, "a map like " + keep
}

// blocksKind is the kind of a list of blocks, or of a map of blocks by their names, whose order counts too.
func (f field) blocksKind(v reflect.Value) kind {
	of := v.Type().Elem()
	label, want, item := wordsOf(of)
	named := of.Field(0).Tag.Get("yaml") == ",name"
	add := func(name, part string, at, n ast.Node) {
		to := reflect.New(of)
		if named {
			to.Elem().Field(0).SetString(name)
		}
		f.r.within(label+" "+part, func() { f.r.block(to.Interface(), at, n, item) })
		v.Set(reflect.Append(v, to.Elem()))
	}
	read := func(n ast.Node) {
		if named {
			_, _ = f.r.pairs(n, want, func(name string, at, n ast.Node) { add(name, quote(name), at, n) })
			return
		}
		for i, n := range f.r.items(f.name, n, want) {
			part := strconv.Itoa(i + 1)
			if of == reflect.TypeFor[Pipeline]() {
				part = f.r.nameOf(n, part)
			}
			add("", part, n, n)
		}
	}
	k := kind{want: want, item: "[]", keys: func() []key { return keysOf(nil, reflect.New(of).Interface()) }}
	k.read = func(n ast.Node) {
		before := f.r.said
		read(n)
		f.r.check(v.Addr().Interface(), n, n, before)
	}
	k.shown = func() any {
		var all []ordered
		for i := range v.Len() {
			all = append(all, shown(v.Index(i).Addr().Interface()))
		}
		return all
	}
	if named {
		k.item, k.shown = ".NAME", func() any { return shownByName(v) }
	}
	return k
}

// nameOf returns the name of a pipeline for problems, or its number if the name is not valid.
func (r *reader) nameOf(n ast.Node, number string) string {
	if at := r.child(n, "name"); at != nil {
		name, _ := scalar(at)
		if _, err := schema.ParsePipeline(name); err == nil {
			return name
		}
	}
	return number
}

// child returns the value of a key of a map, or nil. It reports no problems.
func (r *reader) child(n ast.Node, name string) (found ast.Node) {
	quiet := &reader{anchors: r.anchors, left: r.left}
	_, _ = quiet.pairs(n, "", func(key string, _, value ast.Node) {
		if key == name {
			found, _ = quiet.value(value)
		}
	})
	return found
}

// entries returns the items of a list. It reports no problems.
func (r *reader) entries(n ast.Node) []ast.Node {
	quiet := &reader{anchors: r.anchors, left: r.left}
	of, _ := quiet.value(n)
	s, _ := of.(*ast.SequenceNode)
	if s == nil {
		return nil
	}
	return s.Values
}
