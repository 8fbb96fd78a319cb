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
	for _, p := range old.Pipelines {
		was[string(p.Name)] = p
	}
	for _, p := range new.Pipelines {
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
	return all
}

// changes returns the keys of a pipeline whose values differ, and whether its history is folded again.
func (p Pipeline) changes(new Pipeline) (all []string) {
	was, is := reflect.ValueOf(p.shown()), reflect.ValueOf(new.shown())
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
	if p.Settings() != new.Settings() {
		all = append(all, "so that history is folded again")
	}
	return all
}
