package jobs

import (
	"context"
	"iter"

	"furrow/jobs/folding"
	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// Retainer returns what deletes for the pipeline.
func (p *Pipeline) Retainer() *retain.Retainer {
	r := &retain.Retainer{Policy: &p.Retention.Policy, Client: p.Client, Names: p.Names, Clock: p.Clock,
		ModelOf: p.modelOf, Late: p.late, Portion: p.portion(), Most: p.most()}
	for _, o := range p.Retention.Others {
		r.Others = append(r.Others, retain.Folding{Name: o.Name, Tracking: o.tracking(), ModelOf: o.modelOf,
			Archives: o.Groups[schema.ArchiveMark] != nil})
	}
	return r
}

// Retained says what a job of the pipeline would do with each device of a batch. It changes nothing, and counts the
// rows that would go.
func (p *Pipeline) Retained(ctx context.Context, b Batch) iter.Seq2[retain.Retained, error] {
	return func(yield func(retain.Retained, error) bool) {
		read, err := p.read(ctx, b)
		if err != nil {
			yield(retain.Retained{}, err)
			return
		}
		p.Retainer().Retained(ctx, folding.Changes(read.work), read.now)(yield)
	}
}
