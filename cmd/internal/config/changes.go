package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"furrow/jobs/notify"
	"furrow/jobs/rules"
)

// Changes describes the differences between two configurations, with an entry for each pipeline that is new, removed or
// changed.
func Changes(old, new *Config) (all []string) {
	was := map[string]Pipeline{}
	for _, p := range old.InFile() {
		was[string(p.Name)] = p
	}
	for _, p := range new.InFile() {
		before, there := was[string(p.Name)]
		delete(was, string(p.Name))
		if !there {
			all = append(all, fmt.Sprintf("pipeline %s is new", p.Name))
		} else if changes := before.changes(p); len(changes) > 0 {
			all = append(all, fmt.Sprintf("%s: %s", p.Name, strings.Join(changes, ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		all = append(all, fmt.Sprintf("pipeline %s is removed", name))
	}
	all = append(all, changedModels(old.Models, new.Models)...)
	all = append(all, changedNames("rule", "its open incidents close", old.Rules, new.Rules,
		func(r *rules.Rule) string { return string(r.Name) })...)
	all = append(all, changedNames("target", "what it was still to be told is given up", old.Notify, new.Notify,
		func(t *notify.Target) string { return string(t.Name) })...)
	all = append(all, changedReports(old.Reports, new.Reports)...)
	all = append(all, changedRetention(old.Retention, new.Retention)...)
	if old.Budget != new.Budget {
		all = append(all, "budget has changed")
	}
	return append(all, changedVerify(old.Verify, new.Verify)...)
}

const foldedAgain = "so that history is folded again"

// changedModels describes the differences between models, with an entry for each.
func changedModels(old, new []Model) (all []string) {
	was := map[string]*Model{}
	for i := range old {
		was[old[i].Name] = &old[i]
	}
	for i := range new {
		m := &new[i]
		before, there := was[m.Name]
		delete(was, m.Name)
		if !there {
			all = append(all, fmt.Sprintf("model %s is new", m.Name))
		} else if changes := before.changes(m); len(changes) > 0 {
			label := "model " + m.Name
			if m.Name == "" {
				label = "devices of no model"
			}
			all = append(all, fmt.Sprintf("%s: %s", label, strings.Join(changes, ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		all = append(all, fmt.Sprintf("model %s is removed", name))
	}
	return all
}

// changes returns the keys of a model whose values differ, and whether the history of its devices is folded again.
func (m *Model) changes(new *Model) (all []string) {
	all = changedKeys(m, new)
	if m.identity() != new.identity() {
		all = append(all, foldedAgain)
	}
	return all
}

// changes returns the keys of a pipeline whose values differ, and whether its history is folded again.
func (p Pipeline) changes(new Pipeline) (all []string) {
	all = changedKeys(&p, &new)
	if p.Settings(&Model{}) != new.Settings(&Model{}) {
		all = append(all, foldedAgain)
	}
	return all
}

// changedNames describes the differences between blocks by their names, with an entry for each.
func changedNames[T any](what, end string, old, new []T, name func(*T) string) (all []string) {
	for i := range new {
		n := name(&new[i])
		at := slices.IndexFunc(old, func(o T) bool { return name(&o) == n })
		if at < 0 {
			all = append(all, fmt.Sprintf("%s %s is new", what, n))
		} else if keys := changedKeys(&old[at], &new[i]); len(keys) > 0 {
			all = append(all, fmt.Sprintf("%s %s: %s", what, n, strings.Join(keys, ", ")))
		}
	}
	for i := range old {
		n := name(&old[i])
		if !slices.ContainsFunc(new, func(o T) bool { return name(&o) == n }) {
			all = append(all, fmt.Sprintf("%s %s is removed, and %s", what, n, end))
		}
	}
	return all
}

// changedKeys returns the keys of two blocks whose values differ.
func changedKeys(old, new any) (all []string) {
	value := func(k key) (v any, plain bool) {
		if k.zero() {
			return "", true
		}
		switch v := k.shown().(type) {
		case string, int:
			return v, true
		default:
			return v, false
		}
	}
	is := keysOf(nil, new)
	for i, k := range keysOf(nil, old) {
		before, plain := value(k)
		after, both := value(is[i])
		if reflect.DeepEqual(before, after) {
			continue
		}
		if plain && both {
			k.name += fmt.Sprintf(" %v, now %v", before, after)
		}
		all = append(all, k.name)
	}
	return all
}
