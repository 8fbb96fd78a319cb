package config

import (
	"reflect"
	"slices"
	"strings"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// processors is the kind of the list of processors.
func (f field) processors(to *[]Processor) kind {
	const want = "a list of processors, such as latest or rollup"
	return kind{want: want, read: func(n ast.Node) {
		for _, item := range f.r.items(f.name, n, want) {
			if p, at := f.r.processor(item); p.Processor != nil {
				f.r.addProcessor(to, p, at)
			}
		}
		f.r.together(n, *to)
	}, shown: func() any {
		var all []map[string]any
		for _, p := range *to {
			all = append(all, map[string]any{p.Name: p.settings()})
		}
		return all
	}, item: "[]", keys: func() (all []key) {
		for _, p := range processors.All() {
			keys := func() []key { return keysOf(nil, Newest.fill(p).Config) }
			all = append(all, key{name: p.Name, kind: kind{want: p.Summary, keys: keys}})
		}
		return all
	}}
}

// addProcessor adds a processor to those of a pipeline.
func (r *reader) addProcessor(to *[]Processor, p Processor, at ast.Node) {
	if slices.ContainsFunc(*to, func(o Processor) bool { return o.Name == p.Name }) {
		r.problem(at, "processor %s occurs twice", p.Name)
		return
	}
	for _, output := range p.outputs() {
		if other, taken := r.own(output, at); taken {
			r.problem(at, "%s is already written by %s (line %d)", output, other.label, other.line)
		}
	}
	*to = append(*to, p)
}

// together reports processors that cannot be in one pipeline.
func (r *reader) together(n ast.Node, all []Processor) {
	state := 0
	for _, p := range all {
		if p.Once {
			r.watching(n, all)
		}
		if state += p.MaxState; p.Marks && len(all) > 1 {
			r.problem(n, "processor %s needs a pipeline of its own", p.Name)
			return
		}
	}
	if state > fold.MaxStates {
		r.problem(n, "the states of these processors can take %d bytes, and the row of a device has room for %d; "+
			"move some to another pipeline", state, fold.MaxStates)
	}
}

// watching reports rules that do not come last: what they announce has to be in the outputs before.
func (r *reader) watching(n ast.Node, all []Processor) {
	at := slices.IndexFunc(all, func(p Processor) bool { return p.Once })
	latest := slices.IndexFunc(all, func(p Processor) bool { return p.Name == latest.Processor.Name })
	switch {
	case latest < 0:
		r.problem(n, "processor %s without latest; want both in one pipeline, as in [latest, rollup, rules]", all[at].Name)
	case at < len(all)-1:
		r.problem(n, "processor %s before %s; want it last, as in [latest, rollup, rules]", all[at].Name, all[at+1].Name)
	}
}

// processor reads a name, or a name with settings. It also returns the node of the name.
func (r *reader) processor(n ast.Node) (p Processor, at ast.Node) {
	const want = "a processor's name, alone or with its settings as in rollup: {windows: [1m, 1h]}"
	of, ok := r.value(n)
	if !ok {
		return p, nil
	}
	m, ok := of.(*ast.MappingNode)
	if !ok {
		if name, at, ok := r.scalar("processors", of, want); ok {
			return r.configured(name, at, nil), at
		}
		return p, nil
	}
	if len(m.Values) != 1 {
		r.problem(of, "%d keys in one item; want %s", len(m.Values), want)
		return p, nil
	}
	r.pairs(of, want, func(name string, key, value ast.Node) {
		p, at = r.configured(name, key, value), key
	})
	return p, at
}

// configured reads the settings of a processor. Without settings it has the defaults.
func (r *reader) configured(name string, at, settings ast.Node) Processor {
	p, known := r.edition.processor(name)
	if !known {
		var names []string
		for _, p := range processors.All() {
			names = append(names, p.Name)
		}
		r.problem(at, "unknown processor %s%s; want %s", quote(name), didYouMean(name, names), list(names))
		return p
	}
	if _, empty := settings.(*ast.NullNode); settings == nil || empty {
		return p
	}
	r.within(name, func() {
		want := "no keys, because " + name + " has no settings"
		if all := p.settings(); len(all) > 0 {
			want = "a map like " + flow(all)
		}
		r.block(p.Config, settings, settings, want)
	})
	return p
}

// A Processor is a processor of a pipeline with its configuration.
type Processor struct {
	*fold.Processor
	Config fold.Config // a pointer to the processor's own struct
}

// processor returns a processor with its default configuration.
func (e Edition) processor(name string) (Processor, bool) {
	all := processors.All()
	i := slices.IndexFunc(all, func(p *fold.Processor) bool { return p.Name == name })
	if i < 0 {
		return Processor{}, false
	}
	return e.fill(all[i]), true
}

// fill returns a processor with its default configuration.
func (e Edition) fill(p *fold.Processor) Processor {
	c := p.New()
	if r, is := c.(*rollup.Config); is && e == Newest {
		r.Windows = []schema.Window{schema.Quarter, schema.Hour, schema.Daily}
	}
	return Processor{p, c}
}

// Sizes returns the lengths of the buckets that the processor writes, if any.
func (p Processor) Sizes() []schema.Window {
	if c, ok := p.Config.(interface{ Sizes() []schema.Window }); ok {
		return c.Sizes()
	}
	return nil
}

// Writes tells whether the processor writes to a table of outputs, named without a prefix.
func (p Processor) Writes(table string) bool { return slices.Contains(p.Tables, table) }

// Rollups returns the windows of the rollups that a pipeline writes.
func (p Pipeline) Rollups() (all []schema.Window) {
	for _, processor := range p.Processors {
		if processor.Writes(rollup.Processor.Tables[0]) {
			all = append(all, processor.Sizes()...)
		}
	}
	return all
}

// outputs returns what only one pipeline may write.
func (p Processor) outputs() (all []string) {
	for _, w := range p.Sizes() {
		all = append(all, p.Name+" "+w.String())
	}
	if len(all) == 0 {
		all = []string{p.Name}
	}
	return all
}

// settings returns the settings of a processor as in a file.
func (p Processor) settings() map[string]any {
	all := map[string]any{}
	for _, item := range shown(p.Config) {
		all[item.Key.(string)] = item.Value
	}
	return all
}

// hashed returns the settings that change what the processor writes. One that was added later changes nothing where it
// has its default.
func (p Processor) hashed() map[string]any {
	all, defaults := p.settings(), Processor{p.Processor, p.New()}.settings()
	for field := range reflect.ValueOf(p.Config).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
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
