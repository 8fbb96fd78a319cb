package sas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Move gives a device to another tenant from a time on: the readings whose row keys are at or after it. Zero is now.
type Move struct {
	Device schema.DeviceID
	To     schema.Tenant
	At     tables.Ticks
}

// A MoveError is a reason why a device cannot be moved.
type MoveError struct{ text string }

func (e *MoveError) Error() string { return e.text }

func unmovable(format string, args ...any) error { return &MoveError{fmt.Sprintf(format, args...)} }

// A Moved says what a move did.
type Moved struct {
	Device schema.Device // as it is stored now
	From   schema.Tenant // equal to Device.Tenant if the device belonged to it already
	At     tables.Ticks  // since when it belongs to Device.Tenant
}

// Move moves a device to another tenant, and returns what it is then. A device that belongs to that tenant at that time
// already stays as it is, so a move can be repeated.
//
// The memberships of a device share a partition: one transaction ends the span of the old one and begins a span of the
// new one. That is the move. The device's record follows. If that is interrupted, a repeat, another change of the
// device or its next token request completes it: the old membership names the tenant that has the device next.
func (r Registry) Move(ctx context.Context, mv Move) (Moved, error) {
	from := schema.Tenant("")
	for range tries {
		p, err := r.planMove(ctx, mv)
		if p.old.Tenant != p.device.Tenant { // an earlier attempt was interrupted
			from = p.old.Tenant
		}
		if err != nil || p.done {
			done := Moved{p.device, p.device.Tenant, p.since}
			if from != "" {
				done.From = from
			}
			return done, err
		}
		if err := r.noteFormer(ctx, p.device); err != nil {
			return Moved{}, err
		}
		if _, err = r.Fleet.Submit(ctx, p.ops); err == nil {
			p.old.Next = mv.To
			d, err := r.finishMove(ctx, p.old)
			return Moved{d, p.old.Tenant, p.since}, err
		}
		if !errors.Is(err, tables.ErrConflict) && !errors.Is(err, tables.ErrExists) && !tables.Absent(err) {
			return Moved{}, err
		}
	}
	return Moved{}, fmt.Errorf("device %s: its fleet row: %w", mv.Device, tables.ErrConflict)
}

// WouldMove returns what Move would do, or why it would fail. It changes nothing but to complete an earlier move.
func (r Registry) WouldMove(ctx context.Context, mv Move) (Moved, error) {
	p, err := r.planMove(ctx, mv)
	if err == nil && !p.done {
		p.device.Tenant = mv.To
	}
	return Moved{p.device, p.old.Tenant, p.since}, err
}

// A movePlan is what a move has to do.
type movePlan struct {
	device schema.Device
	old    schema.Member
	since  tables.Ticks
	done   bool // there is nothing to do
	ops    []tables.Op
}

// planMove reads a device, and checks whether it can move.
func (r Registry) planMove(ctx context.Context, mv Move) (p movePlan, err error) {
	if p.device, err = r.Get(ctx, mv.Device); err != nil {
		return p, err
	}
	if p.device.Status.Left() {
		return p, unmovable("it is %s: only a device of the fleet can be moved", p.device.Status)
	}
	if err := r.follow(ctx, p.device); err != nil {
		return p, err
	}
	before := p.device.Tenant
	if p.device, err = r.Get(ctx, mv.Device); err != nil {
		return p, err
	}
	var now tables.Ticks
	if p.old, now, err = r.memberOf(ctx, p.device, p.device.Tenant); err != nil {
		return p, err
	}
	at := mv.At
	if now = min(now, tables.TicksOf(time.Now())); at == 0 { // a span in the future would take the device from everybody
		at = now
	}
	if n := len(p.old.Spans); n > 0 {
		p.since = p.old.Spans[n-1].From
	}
	if p.device.Tenant == mv.To && at >= p.since {
		p.done = true
		p.old.Tenant = before
		return p, nil
	}
	if err := r.checkMove(p, mv, at, now); err != nil {
		return p, err
	}
	p.since = at
	next, _, err := r.memberOf(ctx, p.device, mv.To)
	exists := err == nil
	if err != nil && !tables.Absent(err) {
		return p, err
	}
	if at < next.Watermark { // no job of that tenant would fold the readings between
		return p, unmovable("retention may have deleted its readings before %s for tenant %s: move it at that time or "+
			"later", next.Watermark.Time().Format(time.RFC3339Nano), mv.To)
	}
	return p, p.change(next, exists, mv.To, at)
}

// checkMove returns why a device cannot move.
func (r Registry) checkMove(p movePlan, mv Move, at, now tables.Ticks) error {
	text := func(t tables.Ticks) string { return t.Time().Format(time.RFC3339Nano) }
	switch {
	case at > now:
		return unmovable("%s is in the future (now it is %s): move the device then", text(at), text(now))
	case p.device.Tenant == mv.To:
		return unmovable("it belongs to tenant %s since %s, and to another one at %s", mv.To, text(p.since), text(at))
	case at <= p.since:
		return unmovable("it belongs to tenant %s since %s: move it at a later time", p.device.Tenant, text(p.since))
	case at < p.old.Watermark:
		return unmovable("retention may have deleted its readings before %s, and what was made of them stays with tenant "+
			"%s: move it at that time or later", text(p.old.Watermark), p.device.Tenant)
	case len(p.device.Tenants()) >= maxTenants && !slices.Contains(p.device.Tenants(), mv.To):
		return unmovable("it has belonged to %d tenants already, which is the maximum", maxTenants)
	}
	for _, i := range p.old.Imports {
		if !i.Ended(now, now) {
			return unmovable("history is being imported for it: move it when the import has ended")
		}
	}
	return nil
}

// maxTenants bounds the memberships of a device.
const maxTenants = 50

// change makes the operations of the transaction.
func (p *movePlan) change(next schema.Member, exists bool, to schema.Tenant, at tables.Ticks) error {
	old, now := p.old, p.old
	old.Spans, old.Next = old.Spans.Until(at), to
	now.Tenant, now.Spans, now.Next, now.ETag = to, slices.Clone(next.Spans), "", ""
	now.Spans = append(now.Spans, schema.Span{From: at})
	now.Awake = 0 // nobody knows until its next note
	if exists {
		now.Imports, now.Watermark = next.Imports, max(next.Watermark, now.Watermark)
		now.Admits = max(next.Admits, now.Admits)
	}
	if len(now.Spans) > schema.MaxSpans {
		return unmovable("it has come back to tenant %s %d times already, which is the maximum", to, len(next.Spans)-1)
	}
	ended, errEnded := old.Entity()
	begun, errBegun := now.Entity()
	begin := tables.Insert(begun)
	if exists {
		begin = tables.Replace(begun, next.ETag)
	}
	p.ops = []tables.Op{tables.Replace(ended, old.ETag), begin}
	return errors.Join(errEnded, errBegun)
}

// noteFormer notes on a device's record, before its first move, that only its memberships say when it belongs to whom:
// nobody who reads the record shows the tenant what is another's, however late the record follows.
func (r Registry) noteFormer(ctx context.Context, d schema.Device) error {
	if slices.Contains(d.Former, d.Tenant) {
		return nil
	}
	_, err := r.Update(ctx, d.ID, func(now *schema.Device) error {
		if now.Status.Left() {
			return unmovable("it is %s: only a device of the fleet can be moved", now.Status)
		}
		if !slices.Contains(now.Former, now.Tenant) {
			now.Former = append(now.Former, now.Tenant)
		}
		return nil
	})
	return err
}

// finishMove makes the record of a device follow a membership that has ended.
func (r Registry) finishMove(ctx context.Context, ended schema.Member) (schema.Device, error) {
	return r.Update(ctx, ended.Device, func(d *schema.Device) error {
		if d.Tenant == ended.Tenant {
			d.Tenant = ended.Next
		}
		return nil
	})
}

// memberships reads all memberships of a device, the current one first, and the time of the service. It completes a
// move that was interrupted: the device's record does not name the new tenant until then.
func (r Registry) memberships(ctx context.Context, d schema.Device) (all []schema.Member, now tables.Ticks, err error) {
	for range tries {
		if d, err = r.Get(ctx, d.ID); err != nil {
			return nil, 0, err
		}
		if all, now, err = r.membershipsOf(ctx, d); err != nil || all[0].Next == "" {
			return all, now, err
		}
		if _, err = r.finishMove(ctx, all[0]); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, fmt.Errorf("device %s: its fleet row: %w", d.ID, tables.ErrConflict)
}

// membershipsOf reads the memberships that a device's record names.
func (r Registry) membershipsOf(
	ctx context.Context, d schema.Device,
) (all []schema.Member, now tables.Ticks, err error) {
	for i, t := range d.Tenants() {
		m, at, err := r.memberOf(ctx, d, t)
		if i > 0 && tables.Absent(err) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		all, now = append(all, m), max(now, at)
	}
	return all, now, nil
}
