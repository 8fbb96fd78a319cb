// Package processors lists the processors that there are. Whoever adds one adds a line here; see fold.Processor for
// what the value says.
package processors

import (
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
	"furrow/tables/schema"
)

// Tables returns the names of all tables of a fleet with these pipelines.
func Tables(n schema.Names, pipelines ...schema.Pipeline) []string {
	return append(n.Tables(pipelines...), Outputs(n)...)
}

// Outputs returns the names of a fleet's output tables.
func Outputs(n schema.Names) (all []string) {
	for _, p := range All() {
		for _, table := range p.Tables {
			all = append(all, n.Output(table))
		}
	}
	return all
}

// All are the processors, in the order in which help names them.
func All() []*fold.Processor {
	return []*fold.Processor{
		latest.Processor,
		rollup.Processor,
		rate.Processor,
		rules.Processor,
		archive.Processor,
	}
}
