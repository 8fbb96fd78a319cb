package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"furrow/jobs/fold"

	"github.com/goccy/go-yaml/ast"
)

// match is the kind of what devices have: of a model's, or, with names of models, of those that a rule or an entry of
// retention is for.
func (f field) match(to *fold.Match, models *[]string) kind {
	const want = "a map of what its devices have, such as {tenant: contoso, labels.class: [Fryer, Oven]}"
	return kind{want: want, shown: func() any { return shownMatch(to, models) }, read: func(n ast.Node) {
		f.r.within(f.name, func() {
			m, _ := f.r.pairs(n, want, func(name string, at, value ast.Node) { f.r.matchKey(to, models, name, at, value) })
			if m != nil && len(m.Values) == 0 {
				f.r.problem(n, "nothing; want %s", want)
			}
		})
	}, keys: func() (all []key) {
		for _, name := range matchNames(to, models) {
			all = append(all, key{name: name, kind: kind{want: anyOf}})
		}
		return all
	}}
}

// matchKey reads a key of a match.
func (r *reader) matchKey(to *fold.Match, models *[]string, name string, at, value ast.Node) {
	lists := matchLists(to, models)
	if label, is := strings.CutPrefix(name, "labels."); is && label != "" {
		if to.Labels == nil {
			to.Labels = map[string][]string{}
		}
		to.Labels[label] = r.anyOf(name, value)
		return
	}
	values := r.anyOf(name, value)
	if into := lists[name]; into != nil {
		if *into = values; name == "model" {
			r.checkModels(value, values)
		}
		return
	}
	names := matchNames(to, models)
	r.problem(at, "unknown key %s%s; want %s", quote(name), didYouMean(name, names), list(names))
}

// matchLists returns the keys of a match besides labels.
func matchLists(m *fold.Match, models *[]string) map[string]*[]string {
	all := map[string]*[]string{"enrollment": &m.Enrollment, "tenant": &m.Tenant, "site": &m.Site, "device": &m.Device}
	if models != nil {
		all["model"] = models
	}
	return all
}

func matchNames(m *fold.Match, models *[]string) []string {
	return append(slices.Sorted(maps.Keys(matchLists(m, models))), "labels.NAME")
}

func (r *reader) checkModels(n ast.Node, names []string) {
	var all []string
	for i := range r.config.Models {
		all = append(all, r.config.Models[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			r.problem(n, "model %s is not in this configuration%s", quote(name), didYouMean(name, all))
		}
	}
}

func shownMatch(m *fold.Match, models *[]string) map[string][]quoted {
	all := map[string][]quoted{}
	for name, values := range matchLists(m, models) {
		if len(*values) > 0 {
			all[name] = allQuoted(*values)
		}
	}
	for label, values := range m.Labels {
		all["labels."+label] = allQuoted(values)
	}
	return all
}

// matchText describes which devices are meant, in one line, such as labels.class Fryer or Oven, tenant contoso; empty:
// all.
func matchText(m *fold.Match, models *[]string) string {
	all := shownMatch(m, models)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var values []string
		for _, v := range all[name] {
			if values = append(values, string(v)); strings.ContainsAny(string(v), ` ,"`) {
				values[len(values)-1] = strconv.Quote(string(v))
			}
		}
		parts = append(parts, name+" "+strings.Join(values, " or "))
	}
	return strings.Join(parts, ", ")
}
