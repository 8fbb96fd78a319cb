package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// decode reads the configuration of a processor from a map, with a key for each field of the struct, as its tags say.
func (r *reader) decode(n ast.Node, p Processor) {
	to, want := reflect.ValueOf(p.Config).Elem(), "no keys, because "+p.Name+" has no settings"
	var keys []key
	for field, v := range to.Fields() {
		if field.Tag.Get("yaml") != "-" {
			keys = append(keys, r.field(field, v))
		}
	}
	if len(keys) > 0 {
		want = "a map like " + flow(p.settings())
	}
	r.object(n, want, keys...)
}

// field returns the key of a field. A field of any other type is a mistake in the processor's package.
func (r *reader) field(f reflect.StructField, v reflect.Value) key {
	name := f.Tag.Get("yaml")
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		least, _ := parseSeconds(f.Tag.Get("least"))
		most, _ := parseSeconds(f.Tag.Get("most"))
		return r.duration(name, to, least, most)
	case *string:
		return r.choice(name, to, strings.Fields(f.Tag.Get("choice")))
	case *[]string:
		return r.texts(name, to, f.Tag.Get("want"))
	case *[]schema.Window:
		return key{name: name, read: func(n ast.Node) { *to = r.windows(name, n, f.Tag.Get("want")) }}
	}
	panic(fmt.Sprintf("config: no setting can be a %s", f.Type))
}

// choice returns the key of a word that is one of a few.
func (r *reader) choice(name string, to *string, words []string) key {
	want := strings.Join(words, " or ")
	return r.word(name, want, func(text string) bool {
		*to = text
		return slices.Contains(words, text)
	})
}

// texts returns the key of a list of texts.
func (r *reader) texts(name string, to *[]string, want string) key {
	return key{name: name, read: func(n ast.Node) {
		*to = nil
		for _, item := range r.items(name, n, want) {
			if text, _, ok := r.scalar(name, item, want); ok {
				*to = append(*to, text)
			}
		}
	}}
}

func (r *reader) windows(name string, n ast.Node, want string) (windows []schema.Window) {
	for _, item := range r.items(name, n, want) {
		text, at, ok := r.scalar(name, item, want)
		if !ok {
			continue
		}
		d, ok := parseSeconds(text)
		switch w := schema.Window(d); {
		case !ok || w.Check() != nil:
			r.problem(at, "window %s; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d", quote(text))
		case slices.Contains(windows, w):
			r.problem(at, "window %s occurs twice", w)
		default:
			windows = append(windows, w)
		}
	}
	return windows
}

// settings returns the settings of a processor as in a file.
func (p Processor) settings() map[string]any {
	all := map[string]any{}
	for field, v := range reflect.ValueOf(p.Config).Elem().Fields() {
		if field.Tag.Get("yaml") == "-" {
			continue
		}
		if v.Kind() != reflect.Slice || v.Len() > 0 {
			all[field.Tag.Get("yaml")] = shownSetting(v.Interface())
		}
	}
	return all
}

func shownSetting(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return schema.FormatDuration(v)
	case []schema.Window:
		var texts []string
		for _, w := range v {
			texts = append(texts, w.String())
		}
		return texts
	}
	return v
}

// hashed returns the settings that change what the processor writes. One that was added later changes nothing where it
// has its default.
func (p Processor) hashed() map[string]any {
	all, defaults := p.settings(), Processor{p.Processor, p.New()}.settings()
	for field := range reflect.ValueOf(p.Config).Elem().Fields() {
		name := field.Tag.Get("yaml")
		if tag := field.Tag.Get("hash"); tag == "-" || tag == "changed" && all[name] == defaults[name] {
			delete(all, name)
		}
	}
	return all
}

// flow formats a map as one line of YAML.
func flow(settings map[string]any) string {
	text, err := yaml.MarshalWithOptions(settings, yaml.Flow(true))
	if err != nil {
		panic(err) // impossible for texts and lists of texts
	}
	return strings.TrimSpace(string(text))
}
