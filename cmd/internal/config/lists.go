package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"furrow/jobs/notify"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// listKind is the kind of a list. take takes one of its texts, with its node.
func listKind[T any](f field, to *[]T, take func(text string, at ast.Node), shown func() any) kind {
	want := f.want("")
	return kind{want: want, shown: shown, read: func(n ast.Node) {
		*to = nil
		for _, item := range f.r.items(f.name, n, want) {
			if text, at, ok := f.r.scalar(f.name, item, want); ok {
				take(text, at)
			}
		}
	}}
}

// anyOf is what is wanted where one text is as good as a list.
const anyOf = "a text, or a list of texts"

// anyOf reads one text or a list of them.
func (r *reader) anyOf(name string, n ast.Node) (all []string) {
	of, ok := r.value(n)
	if !ok {
		return nil
	}
	items := []ast.Node{of}
	if _, several := of.(*ast.SequenceNode); several {
		items = r.items(name, of, anyOf)
	}
	for _, item := range items {
		if text, at, ok := r.scalar(name, item, anyOf); ok {
			if text == "" {
				r.problem(at, "%s is empty; want %s", name, anyOf)
			}
			all = append(all, text)
		}
	}
	return all
}

// texts is the kind of a list of texts, of one or several texts, or of values that devices send.
func (f field) texts(to *[]string) kind {
	inQuotes := func() any { return allQuoted(*to) }
	switch f.tag.Get("is") {
	case "any":
		return kind{want: anyOf, read: func(n ast.Node) { *to = f.r.anyOf(f.name, n) }, shown: inQuotes}
	case "sent":
		return f.sent(to, inQuotes)
	}
	add := func(text string, _ ast.Node) { *to = append(*to, text) }
	return listKind(f, to, add, func() any { return *to })
}

// Bounds of a list of values that devices send.
const (
	maxSent     = 100
	maxSentText = 256 // characters
)

// sent is the kind of values that devices send.
func (f field) sent(to *[]string, shown func() any) kind {
	return listKind(f, to, func(text string, at ast.Node) {
		text = asSent(at, text)
		switch {
		case text != "" && !printable(text, maxSentText):
			f.r.problem(at, "%s value %s; want at most %d printable characters", f.name, quote(text), maxSentText)
		case slices.Contains(*to, text):
			f.r.problem(at, "%s value %s occurs twice", f.name, quote(text))
		default:
			*to = append(*to, text)
		}
	}, shown)
}

// asSent formats a value like a number or a boolean that a device sends.
func asSent(n ast.Node, text string) string {
	switch of := n.(type) {
	case *ast.BoolNode:
		return strconv.FormatBool(of.Value)
	case *ast.IntegerNode:
		return fmt.Sprint(of.Value)
	case *ast.FloatNode:
		return tables.Double(of.Value).String()
	}
	return text
}

func (f field) windows(to *[]schema.Window) kind {
	return listKind(f, to, func(text string, at ast.Node) {
		d, ok := parseSeconds(text)
		switch w := schema.Window(d); {
		case !ok || w.Check() != nil:
			f.r.problem(at, "window %s; want whole seconds that divide a day, such as 1m, 15m, 1h or 1d", quote(text))
		case slices.Contains(*to, w):
			f.r.problem(at, "window %s occurs twice", w)
		default:
			*to = append(*to, w)
		}
	}, func() any {
		var texts []string
		for _, w := range *to {
			texts = append(texts, w.String())
		}
		return texts
	})
}

// groups is the kind of what is reported together.
func (f field) groups(to *[]schema.By) kind {
	return listKind(f, to, func(text string, at ast.Node) {
		by, err := schema.ParseBy(text)
		switch {
		case err != nil:
			f.r.mistake(at, fmt.Errorf("by: %w", err))
		case slices.Contains(*to, by):
			f.r.problem(at, "by: %s occurs twice", quote(text))
		default:
			*to = append(*to, by)
		}
	}, func() any { return textsOf(*to) })
}

// targets is the kind of names of targets.
func (f field) targets(to *[]schema.Target) kind {
	const want = "a target of notify, or a list of them"
	return kind{want: want, shown: func() any { return textsOf(*to) }, read: func(n ast.Node) {
		var all []string
		for _, t := range f.r.config.Notify {
			all = append(all, string(t.Name))
		}
		for _, name := range f.r.anyOf(f.name, n) {
			switch {
			case !slices.Contains(all, name):
				f.r.problem(n, "target %s is not in notify: of this configuration%s", quote(name), didYouMean(name, all))
			case slices.Contains(*to, schema.Target(name)):
				f.r.problem(n, "target %s occurs twice", quote(name))
			default:
				*to = append(*to, schema.Target(name))
			}
		}
	}}
}

// keptWindows is the kind of how long something is kept by the length of its window.
func (f field) keptWindows(to *map[schema.Window]time.Duration) kind {
	const want = "a map like {1h: 730d, 1d: forever}"
	return kind{want: want, read: func(n ast.Node) {
		_, _ = f.r.pairs(n, want, func(window string, at, value ast.Node) {
			d, ok := parseSeconds(window)
			w := schema.Window(d)
			if without, has := f.r.config.hasWindow(w, f.is("reported")); !ok || !has {
				f.r.problem(at, "%s: %s %s", f.name, without, quote(window))
				return
			}
			if _, twice := (*to)[w]; twice {
				f.r.problem(at, "window %s occurs twice", w)
			}
			var kept time.Duration
			f.r.within(f.name, func() { field{f.r, window, keptTag}.duration(&kept).read(value) })
			if *to == nil {
				*to = map[schema.Window]time.Duration{}
			}
			(*to)[w] = kept
		})
	}, shown: func() any {
		all := map[string]string{}
		for w, kept := range *to {
			if all[w.String()] = forever; kept > 0 {
				all[w.String()] = schema.FormatDuration(kept)
			}
		}
		return all
	}}
}

func textsOf[T ~string](all []T) (texts []string) {
	for _, one := range all {
		texts = append(texts, string(one))
	}
	return texts
}

// defaultGroupWait is how long a group waits if the configuration does not say it.
const defaultGroupWait = 30 * time.Second

// checkTarget checks a target, and fills in what is missing. It reports everything that is wrong at once, also of a
// target that is not clean, as its keys already had problems.
func (r *reader) checkTarget(t *notify.Target, at, n ast.Node, clean bool) {
	kinds := 0
	names := namesOf(keysOf(nil, t))[:4]
	for _, name := range names {
		if r.child(n, name) != nil {
			kinds++
		}
	}
	if kinds != 1 {
		if clean {
			r.problem(at, "%d kinds of target; want one: %s", kinds, list(names))
		}
		return
	}
	if len(t.GroupBy) > 0 && t.GroupWait == 0 {
		t.GroupWait = defaultGroupWait
	}
	for _, fault := range notify.Faults(t.Check()) {
		r.mistake(at, fault)
	}
}

// Rules are what devices are watched for.
type Rules []rules.Rule

func (all *Rules) check(r *reader, _, n ast.Node, clean bool) {
	if !clean {
		return
	}
	if err := (&rules.Config{Rules: *all}).Check(); err != nil {
		r.mistake(n, fmt.Errorf("rules: %w", err))
	}
	if len(*all) > 0 && !slices.ContainsFunc(r.config.Pipelines, Pipeline.Watches) {
		r.problem(n, "rules: no pipeline has the processor rules; add it to a list with latest, as in "+
			"processors: [latest, rollup, rules]")
	}
}

// WatchesItself reports whether the pipeline evaluates a rule for the tenant schema.Itself, by name.
func (p Pipeline) WatchesItself() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool {
		c, ok := p.Config.(*rules.Config)
		itself := func(r rules.Rule) bool { return slices.Contains(r.Match.Tenant, schema.Itself) }
		return ok && slices.ContainsFunc(c.Rules, itself)
	})
}

// Watches reports whether the pipeline has the processor rules.
func (p Pipeline) Watches() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return p.Name == rules.Processor.Name })
}
