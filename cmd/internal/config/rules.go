package config

import (
	"fmt"
	"slices"

	"furrow/jobs/rules"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

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
