package jobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Leave has the watchers of a pipeline close what is open of a device that has left the fleet, and returns how much
// that was. It is committed and posted as a job does it, so everybody is notified as ever. A job that has read the
// device while it was in the fleet cannot commit any more, because the tracking row gets a higher fence; what it has
// committed before is posted, too. It can be repeated.
func (p *Pipeline) Leave(ctx context.Context, m schema.Member, reason string) (closed int, err error) {
	for more := p.watches(m); more && err == nil; {
		err = commit.Retry(ctx, func() error {
			n, err := p.closeLeft(ctx, m, reason)
			closed, more = closed+n, n > 0
			return err
		})
	}
	if err != nil {
		err = fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	return closed, err
}

// closeLeft closes as much as fits a state.
func (p *Pipeline) closeLeft(ctx context.Context, m schema.Member, reason string) (closed int, err error) {
	t, now, err := trackNow(ctx, p.tracking(), m)
	if now == 0 || err != nil {
		return 0, err
	}
	d := folding.NewDevice(m, t, p.modelOf(m), p.OnFold)
	for processor, w := range d.Model.Watchers {
		was := d.Row.State(processor.Name)
		state, n, err := w.Leave(m, was, now, reason)
		if err != nil {
			return 0, err
		}
		if closed += n; !bytes.Equal(state, was) {
			d.Row.States[processor.Name] = state
		}
	}
	claim := rand.Text()
	op := d.Row.Claimed(m, max(d.Row.Fence+1, now), tracking.Hold{Claim: claim, Until: now})
	op.Entity.Set(schema.TrackCommitted, tables.String(claim))
	op.Entity.Set(schema.TrackLeft, tables.String(d.Row.Last))
	tracking.SetStates(&op.Entity, schema.TrackStates, d.Row.States)
	schema.SetFormat(&op.Entity, max(p.Format, d.Row.Format))
	written, err := p.tracking().Do(ctx, op)
	if err != nil {
		return 0, err
	}
	posted, _, err := p.outbox().Post(ctx, []*folding.Device{d})
	if err != nil || d.Err != nil || len(posted) == 0 {
		return closed, errors.Join(err, d.Err)
	}
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	tracking.SetStates(&e, schema.TrackStates, d.Row.States)
	_, err = p.tracking().Do(ctx, tables.Merge(e, written.ETags[0]))
	return closed, err
}
