package config

import (
	"reflect"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// A Verify says how much of the fleet the scheduler verifies by itself.
type Verify struct {
	// Sample is the share of the devices.
	Sample float64 `yaml:"sample,required" is:"share"`
	// Every is whole days.
	Every  time.Duration   `yaml:"every" least:"1d" most:"31d" step:"1d" default:"1d"`
	Notify []schema.Target `yaml:"notify,flow"`
}

// VerifyRule is the rule that a Verify adds, unless the file has one of that name. Its incident is open while something
// differs that nothing explains.
const VerifyRule = "verify"

// Unexplained is the sensor of the device furrow:PIPELINE that the rule watches.
const Unexplained = "verify_unexplained"

func (v *Verify) check(r *reader, _, n ast.Node, clean bool) {
	if clean && !slices.ContainsFunc(r.config.Pipelines, Pipeline.Watches) {
		r.problem(n, "no pipeline has the processor rules, which opens an incident where something differs; add it to a "+
			"list with latest, as in processors: [latest, rollup, rules]")
	}
}

// watched returns the rules that the processor rules evaluates: those of the file, and that of Verify.
func (c *Config) watched() []rules.Rule {
	own := func(r rules.Rule) bool { return r.Name == VerifyRule }
	if c.Verify == nil || slices.ContainsFunc(c.Rules, own) {
		return c.Rules
	}
	none := 0.0
	return append(slices.Clone(c.Rules), rules.Rule{Name: VerifyRule, Severity: rules.Critical, Notify: c.Verify.Notify,
		Match: rules.Match{Match: fold.Match{Tenant: []string{schema.Itself}}},
		When:  &rules.Threshold{Sensor: Unexplained, Limit: rules.Limit{Above: &rules.Bound{Number: none}}},
		Text: "{value} differences between readings and outputs that nothing explains; the page Completeness names " +
			"the devices, and furrow verify DEVICE --values says what differs"})
}

// changedVerify describes the differences between two configurations' verifications.
func changedVerify(old, new *Verify) []string {
	switch {
	case reflect.DeepEqual(old, new):
		return nil
	case old == nil:
		return []string{"verify is new"}
	case new == nil:
		return []string{"verify is removed"}
	}
	return []string{"verify has changed"}
}
