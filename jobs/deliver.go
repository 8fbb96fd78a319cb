package jobs

import (
	"context"
	"errors"

	"furrow/jobs/notify"
	"furrow/jobs/outbox"
	"furrow/tables"
	"furrow/tables/schema"
)

// deliver does a deliver job, and puts another one if there is more to do soon.
func (j job) deliver(ctx context.Context) (Result, error) {
	done, err := j.notifier().Deliver(ctx, j.m.Target)
	r := Result{Strange: done.Strange}
	if err != nil {
		return r, err
	}
	if done.Again {
		err = j.Put(ctx, j.m.Untried(), done.After)
	}
	for _, j.m.Target = range done.Woken {
		err = errors.Join(err, j.Put(ctx, j.m.Untried(), j.notifier().Wait(j.m.Target)))
	}
	return r, err
}

// notifier returns the pipeline's notifier, or one without targets: what was for targets that are gone is given up.
func (p *Pipeline) notifier() *notify.Notifier {
	if p.Notifier == nil {
		return &notify.Notifier{Pipeline: p.Name, Client: p.Client, Names: p.Names, Format: p.Format,
			Generation: p.Generation}
	}
	return p.Notifier
}

// outbox returns what posts for the pipeline.
func (p *Pipeline) outbox() *outbox.Outbox {
	return &outbox.Outbox{Pipeline: p.Name, Client: p.Client, Names: p.Names, Format: p.Format, Notifier: p.notifier()}
}

// putDeliveries puts a deliver job for each target that has something to do.
func (j job) putDeliveries(ctx context.Context, states []tables.Entity, now tables.Ticks, r *Result) error {
	for _, e := range states {
		s, err := schema.TargetStateOf(e)
		if err != nil {
			r.strange(e.PartitionKey+"/"+e.RowKey, err)
			continue
		}
		if j.notifier().TurnedOn(s) { // nothing that happens at devices has said so
			if _, err := j.notifier().Wake(ctx, s.Target); err != nil {
				return err
			}
			s.Due = 0
		}
		if s.Waits(now) {
			continue
		}
		next := j.m.next(Deliver)
		next.Target = s.Target
		if err := j.Put(ctx, next, 0); err != nil {
			return err
		}
	}
	return nil
}

// putLeftDeliveries puts a deliver job for each target that has deliveries and, as its state says, nothing to do. They
// are left of another pipeline that had the rules before. That takes a request for each target, so it is done once a
// day, and in the first run of a pipeline.
func (j job) putLeftDeliveries(ctx context.Context, states []tables.Entity) error {
	if !j.watches(schema.Member{}) {
		return nil
	}
	busy := map[schema.Target]bool{}
	for _, e := range states {
		s, err := schema.TargetStateOf(e)
		busy[s.Target] = err != nil || s.Due < tables.MaxTicks
	}
	for i := range j.notifier().Targets {
		next := j.m.next(Deliver)
		if next.Target = j.notifier().Targets[i].Name; busy[next.Target] {
			continue
		}
		woken, err := j.notifier().WakeLeft(ctx, next.Target)
		if err == nil && woken {
			err = j.Put(ctx, next, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
