package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/schema"
)

// deliver does a deliver job, and puts another one if there is more to do soon.
func (p *Pipeline) deliver(ctx context.Context, m Message, put Putter) (Result, error) {
	done, err := p.notifier().Deliver(ctx, m.Target)
	r := Result{Strange: done.Strange}
	if err == nil && done.Again {
		err = put.Put(ctx, m.Untried(), done.After)
	}
	return r, err
}

// notifier returns the pipeline's notifier, or one without targets: what was for targets that are gone is given up.
func (p *Pipeline) notifier() *notify.Notifier {
	if p.Notifier == nil {
		return &notify.Notifier{Pipeline: p.Name, Client: p.Client, Names: p.Names, Format: p.Format}
	}
	return p.Notifier
}

// wake notes that targets have new deliveries, and returns those for which nobody had noted it.
func (p *Pipeline) wake(ctx context.Context, posted map[fold.Output][]*commit.Write) (woken []schema.Target,
	err error) {
	of := map[schema.Target]bool{}
	for o := range posted {
		if o.Table == schema.Deliveries {
			of[schema.DeliveryTarget(o.PartitionKey)] = true
		}
	}
	for _, target := range slices.Sorted(maps.Keys(of)) {
		first, err := p.notifier().Wake(ctx, target)
		if err != nil {
			return nil, fmt.Errorf("waking target %s: %w", target, err)
		}
		if first {
			woken = append(woken, target)
		}
	}
	return woken, nil
}

// putDeliveries puts a deliver job for each target that has something to do.
func (p *Pipeline) putDeliveries(ctx context.Context, m Message, states []tables.Entity, now tables.Ticks, put Putter,
	r *Result) error {
	for _, e := range states {
		s, err := schema.TargetStateOf(e)
		if err != nil {
			r.strange(e.PartitionKey+"/"+e.RowKey, err)
			continue
		}
		if s.Due > now || s.Until > now {
			continue
		}
		job := Message{Kind: Deliver, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation, Target: s.Target}
		if err := put.Put(ctx, job, 0); err != nil {
			return err
		}
	}
	return nil
}
