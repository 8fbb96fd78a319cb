package config

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/jobs/rules"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestVerifyWatchesItself: the block adds a rule for the tenant furrow, which a rule of the file can replace. The shown
// configuration has the block, and not the rule.
func TestVerifyWatchesItself(t *testing.T) {
	const text = `
pipelines: [{name: live, processors: [latest, rules]}, {name: slow, processors: [rollup]}]
notify: {ops: {webhook: {url: "https://example.com/x", secretFile: /s}}}
verify: {sample: 0.5%, notify: ops}
`
	evaluated := func(c *Config) []rules.Rule {
		i := slices.IndexFunc(c.Pipelines[0].Processors, func(p Processor) bool { return p.Name == "rules" })
		return c.Pipelines[0].Processors[i].Config.(*rules.Config).Rules
	}
	c := mustParse(t, text)
	if v := c.Verify; v == nil || v.Sample != 0.005 || v.Every != 24*time.Hour || c.Pipelines[1].Verify != v {
		t.Fatalf("%+v", v)
	}
	all := evaluated(c)
	if len(all) != 1 || all[0].Name != VerifyRule || !slices.Equal(all[0].Match.Tenant, []string{schema.Itself}) ||
		!slices.Equal(all[0].Notify, []schema.Target{"ops"}) || len(c.Rules) > 0 {
		t.Errorf("it evaluates %+v", all)
	}
	must.Succeed(t, (&rules.Config{Rules: all}).Check())
	if !c.Pipelines[0].WatchesItself() {
		t.Error("no figures of pipelines are written")
	}
	shown := must.Have(c.YAML())(t)
	if again := mustParse(t, string(shown)); !reflect.DeepEqual(again, c) {
		t.Errorf("%s\nparses to %+v", shown, again)
	}

	own := mustParse(t, text+"rules: {verify: {match: {tenant: furrow}, "+
		"when: {threshold: {sensor: verify_unexplained, above: 9}}}}")
	if all := evaluated(own); len(all) != 1 || len(all[0].Notify) > 0 {
		t.Errorf("with a rule of that name it evaluates %+v", all)
	}
	without := mustParse(t, "pipelines: [{name: live, processors: [latest, rules]}, {name: slow, processors: [rollup]}]")
	for want, change := range map[string][2]*Config{"verify is new": {without, c}, "verify is removed": {c, without}} {
		if got := Changes(change[0], change[1]); !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
