package config

import (
	"slices"
	"testing"

	"furrow/tables/azuretest/must"
)

func TestChangesDescribeTheDifferences(t *testing.T) {
	const base = "pipelines: [{name: live, cadence: 1m, processors: [latest]}, {name: archive, processors: [archive]}]"
	const archive, live = "{name: archive, processors: [archive]}", "{name: live, cadence: 1m, processors: [latest]}"
	for text, want := range map[string][]string{
		base:               nil,
		"# words\n" + base: nil,
		"pipelines: [" + archive + ", " + live + "]": nil,
		"pipelines: [{name: live, cadence: 30s, batch: 9, processors: [latest]}, " + archive + "]": {
			"live: cadence 1m, now 30s, batch 50, now 9"},
		"pipelines: [{name: live, processors: [latest, rollup]}]": {
			"live: processors, so that history is folded again", "pipeline archive is removed"},
		"pipelines: [{name: live, processors: [latest]}, {name: new, processors: [archive]}]": {"pipeline new is new",
			"pipeline archive is removed"},
		base + "\nsensors: {a: {type: number, unit: m}}": {
			"devices of no model: sensors, so that history is folded again"},
	} {
		was := must.Have(Parse("was", []byte(base)))(t)
		is := must.Have(Parse("is", []byte(text)))(t)
		if got := Changes(was, is); !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q\nwant  %q", text, got, want)
		}
	}
}

// TestAnotherOrderOfModelsIsAChange: the first that matches a device holds.
func TestAnotherOrderOfModelsIsAChange(t *testing.T) {
	const base = "pipelines: [{name: live, processors: [latest]}]\nmodels:\n"
	const a, b, c = "  a: {match: {site: x}}\n", "  b: {match: {tenant: t}}\n", "  c: {match: {site: y}}\n"
	order := []string{"models: another order, and the first that matches a device holds"}
	for text, want := range map[string][]string{
		a + b:     nil,
		b + a:     order,
		c + a + b: {"model c is new"},
		b:         {"model a is removed"},
		b + c + a: append([]string{"model c is new"}, order...),
	} {
		was, is := must.Have(Parse("was", []byte(base+a+b)))(t), must.Have(Parse("is", []byte(base+text)))(t)
		if got := Changes(was, is); !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q\nwant  %q", text, got, want)
		}
	}
}
