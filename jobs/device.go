package jobs

import "context"

func (p *Pipeline) device(ctx context.Context, m Message, put Putter) (Result, error) {
	return p.Run(ctx, Batch{Month: m.Month, First: m.First, Last: m.Last})
}
