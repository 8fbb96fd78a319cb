package config

import (
	"slices"

	"furrow/jobs"
	"furrow/jobs/processors"
	"furrow/tables/schema"
)

// A Processor is a processor of a pipeline with its configuration.
type Processor struct {
	*jobs.Processor
	Config jobs.Config // a pointer to the processor's own struct
}

// processor returns a processor with its default configuration.
func processor(name string) (Processor, bool) {
	all := processors.All()
	i := slices.IndexFunc(all, func(p *jobs.Processor) bool { return p.Name == name })
	if i < 0 {
		return Processor{}, false
	}
	return Processor{all[i], all[i].New()}, true
}

// Sizes returns the lengths of the buckets that the processor writes, if any.
func (p Processor) Sizes() []schema.Window {
	if c, ok := p.Config.(interface{ Sizes() []schema.Window }); ok {
		return c.Sizes()
	}
	return nil
}

// Writes tells whether the processor writes to a table of outputs, named without a prefix.
func (p Processor) Writes(table string) bool { return slices.Contains(p.Tables, table) }

// outputs returns what only one pipeline may write.
func (p Processor) outputs() (all []string) {
	for _, w := range p.Sizes() {
		all = append(all, p.Name+" "+w.String())
	}
	if len(all) == 0 {
		all = []string{p.Name}
	}
	return all
}
