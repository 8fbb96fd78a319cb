package config

import (
	"slices"

	"furrow/jobs"
	"furrow/jobs/processors"
	"furrow/tables/schema"
)

// A Processor is one of a pipeline's, with its configuration.
type Processor struct {
	*jobs.Processor
	Config jobs.Config // a pointer to a struct of the processor's own
}

// processor is one of the listed processors, with its defaults.
func processor(name string) (Processor, bool) {
	all := processors.All()
	i := slices.IndexFunc(all, func(p *jobs.Processor) bool { return p.Name == name })
	if i < 0 {
		return Processor{}, false
	}
	return Processor{all[i], all[i].New()}, true
}

// Sizes are the lengths of the buckets that it writes; none where it writes none.
func (p Processor) Sizes() []schema.Window {
	if c, ok := p.Config.(interface{ Sizes() []schema.Window }); ok {
		return c.Sizes()
	}
	return nil
}

// Writes tells whether it writes to a table of outputs, by its name without a prefix.
func (p Processor) Writes(table string) bool { return slices.Contains(p.Tables, table) }

// outputs are what no other pipeline may write: two would overtake one another for ever.
func (p Processor) outputs() (all []string) {
	for _, w := range p.Sizes() {
		all = append(all, p.Name+" "+w.String())
	}
	if len(all) == 0 {
		all = []string{p.Name}
	}
	return all
}
