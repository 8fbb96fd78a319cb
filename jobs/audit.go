package jobs

import (
	"context"
	"fmt"

	"furrow/jobs/refold"
)

// refolder returns what audits the pipeline's devices and folds them again.
func (p *Pipeline) refolder() *refold.Refolder {
	return &refold.Refolder{Writer: p.writer(), Outbox: p.outbox(), Late: p.late, Steady: p.ranBefore,
		Rests: p.rests(), Portion: p.portion(), Most: p.most()}
}

// audit does an audit job. It commits what it folds again device by device and portion by portion. Repeated, it finds
// what is left.
func (p *Pipeline) audit(ctx context.Context, m Message, put Putter) (Result, error) {
	read, err := p.read(ctx, Batch{First: m.First, Last: m.Last})
	if err != nil {
		return Result{}, fmt.Errorf("audit of %s to %s: %w", m.First, m.Last, err)
	}
	t := refold.Task{Depth: m.Audit, Slot: m.Run, Since: m.Since, Mark: m.Mark, Tried: m.tried()}
	done, err := p.refolder().Do(ctx, t, read.work, read.now)
	if err != nil {
		return Result{}, fmt.Errorf("audit of %s to %s: %w", m.First, m.Last, err)
	}
	// Devices that are held are counted by the follow-up.
	r := Result{Devices: len(read.work) - len(done.Held), Overtaken: done.Overtaken, Late: done.Late,
		Refolds: done.Refolds, Missing: done.Missing, Failed: done.Failed, Strange: read.strange}
	for _, d := range done.Held {
		r.Claimed = append(r.Claimed, claimed{d.Member.Place(), d.Row.Hold.Claim, d.Row.Hold.Until})
	}
	m = m.Untried()
	for _, f := range followUps(m, r.Claimed, read.now) {
		f.Claim = "" // a later claim does not do the work of an audit
		if err := put.Put(ctx, f.Message, f.delay); err != nil {
			return r, err
		}
	}
	for _, d := range done.Unheard {
		look := m.next(Device)
		look.Extra, look.First, look.Last = true, d.Place(), d.Place()
		if err := put.Put(ctx, look, 0); err != nil {
			return r, err
		}
	}
	m.Audit, m.Since = refold.Refold, 0
	for _, u := range done.Unended {
		m.First, m.Last, m.Mark = u.Device, u.Device, u.Mark
		if err := put.Put(ctx, m, u.Delay); err != nil {
			return r, err
		}
	}
	return r, nil
}
