package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"furrow/jobs/notify"
	"furrow/jobs/rules"
)

// Changes describes the differences between two configurations, with an entry for each block that is new, removed or
// changed.
func Changes(old, new *Config) (all []string) {
	all = slices.Concat(
		changedBlocks("pipeline", "", old.InFile(), new.InFile(), func(p *Pipeline) (string, string) {
			return string(p.Name), string(p.Name)
		}, (*Pipeline).folds),
		changedBlocks("model", "", old.Models, new.Models, func(m *Model) (string, string) {
			if m.Name == "" {
				return "", "devices of no model"
			}
			return m.Name, "model " + m.Name
		}, (*Model).identity),
		changedOrder(old.Models, new.Models),
		changedBlocks("rule", ", and its open incidents close", old.Rules, new.Rules,
			func(r *rules.Rule) (string, string) { return string(r.Name), "rule " + string(r.Name) }, nil),
		changedBlocks("target", ", and what it was still to be told is given up", old.Notify, new.Notify,
			func(t *notify.Target) (string, string) { return string(t.Name), "target " + string(t.Name) }, nil),
		changedReports(old.Reports, new.Reports), changedRetention(old.Retention, new.Retention))
	if old.Budget != new.Budget {
		all = append(all, "budget has changed")
	}
	return append(all, changedVerify(old.Verify, new.Verify)...)
}

// changedOrder describes another order of the models that both configurations have.
func changedOrder(old, new []Model) []string {
	common := func(of, other []Model) (names []string) {
		for i := range of {
			if slices.ContainsFunc(other, func(m Model) bool { return m.Name == of[i].Name }) {
				names = append(names, of[i].Name)
			}
		}
		return names
	}
	if slices.Equal(common(old, new), common(new, old)) {
		return nil
	}
	return []string{"models: another order, and the first that matches a device holds"}
}

// folds identifies what the pipeline folds.
func (p Pipeline) folds() string { return p.Settings(&Model{}) }

// changedBlocks describes the differences between blocks by their names, with an entry for each. named returns the name
// of a block, and what it is called where it has changed. If folds, which may be nil, differs, history is folded again.
func changedBlocks[T any](
	what, end string, old, new []T, named func(*T) (name, label string), folds func(*T) string,
) (all []string) {
	find := func(all []T, of *T) *T {
		name, _ := named(of)
		at := slices.IndexFunc(all, func(o T) bool { own, _ := named(&o); return own == name })
		if at < 0 {
			return nil
		}
		return &all[at]
	}
	for i := range new {
		name, label := named(&new[i])
		before := find(old, &new[i])
		if before == nil {
			all = append(all, fmt.Sprintf("%s %s is new", what, name))
			continue
		}
		changes := changedKeys(before, &new[i])
		if folds != nil && folds(before) != folds(&new[i]) {
			changes = append(changes, "so that history is folded again")
		}
		if len(changes) > 0 {
			all = append(all, fmt.Sprintf("%s: %s", label, strings.Join(changes, ", ")))
		}
	}
	for i := range old {
		if find(new, &old[i]) == nil {
			name, _ := named(&old[i])
			all = append(all, fmt.Sprintf("%s %s is removed%s", what, name, end))
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
