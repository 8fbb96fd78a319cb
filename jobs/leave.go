package jobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Leave has the watchers of a pipeline close what is open of a device that has left the fleet, and returns how much
// that was. It is committed and posted as a job does it, so everybody is notified as ever. A job that has read the
// device while it was in the fleet cannot commit any more, because the tracking row gets a higher fence; what it has
// committed before is posted, too. Outputs of open windows that were to be written later are written. It can be
// repeated.
func (p *Pipeline) Leave(ctx context.Context, m schema.Member, reason string) (closed int, err error) {
	for more := p.watches(m); more && err == nil; {
		err = commit.Retry(ctx, func() error {
			n, rest, err := p.closeLeft(ctx, m, reason)
			closed, more = closed+n, rest
			return err
		})
	}
	if err == nil {
		err = commit.Retry(ctx, func() error { return p.closeWindows(ctx, m) })
	}
	if err != nil {
		err = fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	return closed, err
}

// closeLeft closes as much as fits a state, and reports whether more may be open: also where it closed nothing, but
// posted what an attempt had closed whose answer was lost.
func (p *Pipeline) closeLeft(ctx context.Context, m schema.Member, reason string) (closed int, more bool, err error) {
	t, now, err := trackNow(ctx, p.tracking(), m)
	if now == 0 || err != nil {
		return 0, false, err
	}
	d := folding.NewDevice(m, t, p.modelOf(m), p.OnFold)
	for processor, w := range d.Model.Watchers {
		was := d.Row.State(processor.Name)
		state, n, err := w.Leave(m, was, now, reason)
		if err != nil {
			return 0, false, err
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
		return 0, false, err
	}
	posted, _, err := p.outbox().Post(ctx, []*folding.Device{d})
	if err != nil || d.Err != nil || len(posted) == 0 {
		return closed, closed > 0, errors.Join(err, d.Err)
	}
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	tracking.SetStates(&e, schema.TrackStates, d.Row.States)
	_, err = p.tracking().Do(ctx, tables.Merge(e, written.ETags[0]))
	return closed, true, err
}

// closeWindows writes what jobs would have written when windows end, such as a report's bucket. What has a state that
// cannot be read, or is to be folded again, stays as it is.
func (p *Pipeline) closeWindows(ctx context.Context, m schema.Member) error {
	t, now, err := trackNow(ctx, p.tracking(), m)
	if now == 0 {
		return err
	}
	d := folding.NewDevice(m, t, p.modelOf(m), p.OnFold)
	if err != nil || t.Settings != d.Model.Settings || t.Generation > p.Generation {
		return nil
	}
	for _, processor := range d.Model.Processors {
		closer, is := processor.Fold.(fold.Closer)
		state := t.State(processor.Name)
		if !is || state == nil {
			continue
		}
		out, err := closer.Close(m, state, tables.MaxTicks)
		if err != nil {
			continue
		}
		if err := d.Take(processor, out, nil); err != nil {
			return err
		}
	}
	if d.Dirty = len(d.Effects) > 0; !d.Dirty {
		return nil
	}
	d.Horizon = now
	a := &commit.Attempt{Writer: p.writer(), Claim: rand.Text(), Now: now,
		Work: folding.Changes([]*folding.Device{d})}
	if err := a.Do(ctx); err != nil || d.Err != nil {
		a.GiveBack(ctx)
		return errors.Join(err, d.Err)
	}
	if d.Outcome() != commit.Committed { // a job has claimed it meanwhile
		return tables.ErrConflict
	}
	return nil
}
