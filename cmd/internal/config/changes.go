package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
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
	all = append(all, changedRules(old.Rules, new.Rules)...)
	all = append(all, changedTargets(old.Notify, new.Notify)...)
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
	all = changedKeys(m.shown(), new.shown())
	if !reflect.DeepEqual(m.Match, new.Match) {
		all = append([]string{"match"}, all...)
	}
	if m.identity() != new.identity() {
		all = append(all, foldedAgain)
	}
	return all
}

// changes returns the keys of a pipeline whose values differ, and whether its history is folded again.
func (p Pipeline) changes(new Pipeline) (all []string) {
	all = changedKeys(p.shown(), new.shown())
	if p.Settings(&Model{}) != new.Settings(&Model{}) {
		all = append(all, foldedAgain)
	}
	return all
}

// changedKeys returns the keys of two structs of a file whose values differ.
func changedKeys(old, new any) (all []string) {
	was, is := reflect.ValueOf(old), reflect.ValueOf(new)
	for i := range was.NumField() {
		before, after := was.Field(i).Interface(), is.Field(i).Interface()
		if reflect.DeepEqual(before, after) {
			continue
		}
		key, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("yaml"), ",")
		switch before.(type) {
		case string, int:
			key += fmt.Sprintf(" %v, now %v", before, after)
		}
		all = append(all, key)
	}
	return all
}
