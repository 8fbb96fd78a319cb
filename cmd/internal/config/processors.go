package config

import (
	"slices"
	"time"

	"furrow/jobs/rollup"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// processors reads the list of a pipeline's.
func (r *reader) processors(label string, to *[]Processor) key {
	return key{name: "processors", must: true, read: func(n ast.Node) {
		for _, item := range r.items("processors", n, "a list of processors, such as latest or rollup") {
			p, at := r.processor(item)
			if p == nil {
				continue
			}
			if slices.ContainsFunc(*to, func(o Processor) bool { return o.Name() == p.Name() }) {
				r.problem(at, "processor %s is there twice; want each once", p.Name())
				continue
			}
			for _, output := range p.outputs() {
				if other, taken := r.own(output, label, at); taken {
					r.problem(at, "%s is written by %s already (line %d); an output has one writer", output, other.label, other.line)
				}
			}
			*to = append(*to, p)
		}
		if i := slices.IndexFunc(*to, Processor.raw); i >= 0 && len(*to) > 1 {
			r.problem(n, "processor %s is with others; want it in a pipeline of its own", (*to)[i].Name())
		}
	}}
}

// processor reads one: its name, or its name and its settings. at is where its
// name is.
func (r *reader) processor(n ast.Node) (p Processor, at ast.Node) {
	const want = "a processor's name, alone or with its settings as in rollup: {windows: [1m, 1h]}"
	of, ok := r.value(n)
	if !ok {
		return nil, nil
	}
	m, ok := of.(*ast.MappingNode)
	if !ok {
		name, at, ok := r.scalar("processors", of, want)
		if !ok {
			return nil, nil
		}
		return r.kind(name, at, nil), at
	}
	if len(m.Values) != 1 {
		r.problem(of, "%d keys in one item; want %s", len(m.Values), want)
		return nil, nil
	}
	r.pairs(of, want, func(name string, key, value ast.Node) {
		p, at = r.kind(name, key, value), key
	})
	return p, at
}

// kind reads the settings of the processor of that name, and says if there is none.
func (r *reader) kind(name string, at, settings ast.Node) (p Processor) {
	var names []string
	for _, k := range r.kinds() {
		if k.name == name {
			if _, empty := settings.(*ast.NullNode); empty {
				settings = nil
			}
			r.within(name, func() { p = k.read(settings) })
			return p
		}
		names = append(names, k.name)
	}
	r.problem(at, "processor %s is not known%s; want %s", quote(name), didYouMean(name, names), list(names))
	return nil
}

// kinds are the processors that there are, and how the settings of each are read.
// A node that is nil says nothing: the defaults hold.
func (r *reader) kinds() []kind {
	return []kind{
		{"latest", r.latest},
		{"rollup", r.rollup},
		{"archive", r.archive},
	}
}

type kind struct {
	name string
	read func(ast.Node) Processor
}

func (r *reader) latest(n ast.Node) Processor {
	if n != nil {
		r.object(n, "nothing, as latest has no settings")
	}
	return Latest{}
}

func (r *reader) rollup(n ast.Node) Processor {
	p := defaultRollup()
	if n != nil {
		r.object(n, "a map like {windows: [1m, 1h, 1d]}", key{name: "windows", read: func(n ast.Node) { p.Windows = r.windows(n) }})
	}
	return p
}

func (r *reader) windows(n ast.Node) (windows []schema.Window) {
	before := len(r.problems)
	const want = "a list of windows, such as [1m, 1h, 1d]"
	for _, item := range r.items("windows", n, want) {
		text, at, ok := r.scalar("windows", item, want)
		if !ok {
			continue
		}
		w, err := parseWindow(text)
		switch {
		case err != "":
			r.problem(at, "%s", err)
		case slices.Contains(windows, w):
			r.problem(at, "window %s is there twice", w)
		default:
			windows = append(windows, w)
		}
	}
	slices.Sort(windows)
	if _, err := rollup.New(rollup.Config{Windows: windows}); err != nil && len(r.problems) == before {
		r.problem(n, "%v", err)
	}
	return windows
}

// parseWindow reads a window in any unit: 60s is 1m.
func parseWindow(text string) (w schema.Window, wrong string) {
	d, ok := parseSeconds(text)
	if w = schema.Window(d); !ok || w.Check() != nil {
		return 0, "window " + quote(text) + "; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d"
	}
	return w, ""
}

func (r *reader) archive(n ast.Node) Processor {
	p := defaultArchive()
	if n != nil {
		r.object(n, "a map like {closeAfter: 1h}", r.duration("closeAfter", &p.CloseAfter, time.Second, 31*day))
	}
	return p
}
