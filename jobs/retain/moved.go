package retain

import (
	"context"
	"errors"
	"fmt"

	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// moved keeps rows of devices that have moved while a pipeline still needs them for any of the tenants. A membership
// that loses rows to another finds the outputs to replace by these rows, so it needs rows that are not its own.
func (p *Retainer) moved(ctx context.Context, all []*retained) error {
	for _, d := range all {
		if d.to == 0 || len(d.Member.Spans) == 0 {
			continue
		}
		members, err := p.membershipsOf(ctx, d.Member)
		if err != nil {
			return fmt.Errorf("device %s: its memberships: %w", d.Member.Device, err)
		}
		for _, m := range members {
			for _, o := range p.Others {
				if err := p.movedIn(ctx, o, m, d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// movedIn keeps what a pipeline needs for one membership of a device. Once its row has the spans of the membership, no
// job that knew others can claim the device.
func (p *Retainer) movedIn(ctx context.Context, o Folding, m schema.Member, d *retained) error {
	stay := func(from tables.Ticks, cause Cause, reason string) {
		d.stay(from, cause, fmt.Sprintf("pipeline %s %s for tenant %s after a move", o.Name, reason, m.Tenant))
	}
	t := tracking.New()
	e, err := o.Tracking.Get(ctx, m.Month.String(), string(m.Key()))
	if err != nil && !tables.Absent(err) {
		return err
	}
	if err == nil {
		if t, err = tracking.RowOf(e); err != nil {
			stay(0, CauseUnreadable, "has a tracking row that cannot be read")
			return nil
		}
	}
	if at, differ := t.Spans.Differ(m.Spans); differ {
		stay(at, CauseMove, "has to fold it again")
		return nil
	}
	if next := t.Coverage.Next(); !next.Empty() {
		stay(next.From, CauseMove, "folds it again")
	}
	if r := t.Coverage.Repeat; !r.Empty() {
		stay(r.From, CauseMove, "folds it again later")
	}
	if uncut := t.Uncut.String(); uncut > t.Last { // as package live reads them
		of := m
		of.Spans = nil
		row, err := FirstRow(ctx, p.Client, of, tables.Keys{After: t.Last, To: uncut})
		if err != nil {
			return err
		}
		if row != "" {
			stay(tables.TicksBefore(row), CauseMove, "has not folded it")
		}
	}
	return nil
}

// membershipsOf returns all memberships of a device, or the given one where the device has no record.
func (p *Retainer) membershipsOf(ctx context.Context, m schema.Member) (all []schema.Member, err error) {
	e, err := p.Client.Table(p.Names.Devices()).Get(ctx, string(m.Device), schema.DeviceRow)
	if tables.Absent(err) {
		return []schema.Member{m}, nil
	}
	if err != nil {
		return nil, err
	}
	device, err := schema.DeviceOf(e)
	if err != nil {
		return nil, err
	}
	for _, of := range device.Tenants() {
		one := schema.Member{Month: m.Month, Tenant: of, Device: m.Device}
		e, err := p.Client.Table(p.Names.Fleet()).Get(ctx, one.Month.String(), string(one.Key()))
		if errors.Is(err, tables.ErrNotFound) {
			continue // the device had left before it could move
		}
		if err == nil {
			one, err = schema.MemberOf(e)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
