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

// ErrElsewhere means that a removed device cannot register again as it asks.
var ErrElsewhere = errors.New("the device was removed, and its data is kept for another tenant or readings table: an " +
	"operator must delete the data first")

// Remove begins to remove a device: its tokens no longer work, as after Revoke, unless its enrollment has AtExpiry, it
// gets no others, and runs no longer find it. Left ends the removal. Remove completes an earlier attempt that was
// interrupted, and begins again for a device that was removed, so that its data can be deleted.
func (p *Policies) Remove(ctx context.Context, d schema.Device) error {
	r := p.registry()
	if d.Status.MayRegister() { // it has no tokens
		_, err := r.Update(ctx, d.ID, func(now *schema.Device) error {
			if !now.Status.Left() {
				return fmt.Errorf("device %s: %w: it is %s", d.ID, ErrOvertaken, now.Status)
			}
			now.Status = schema.Removing
			return nil
		})
		return err
	}
	atExpiry, err := (&Enrollments{Table: p.Client.Table(p.Names.Enrollments())}).AtExpiry(ctx, d)
	if err != nil {
		return err
	}
	if err := p.change(ctx, schema.Change{Device: d.ID, To: schema.Removing, Rotate: !atExpiry}); err != nil {
		return err
	}
	if err := r.endMembers(ctx, d); err != nil {
		return err
	}
	return r.Places.release(ctx, d.Enrollment, d.ID)
}

// endMembers deletes the memberships of a device, all at once, and on the versions whose content its record keeps:
// retention may raise a watermark in between. An earlier attempt that deleted some has noted all.
func (r Registry) endMembers(ctx context.Context, d schema.Device) error {
	for range tries {
		all, _, err := r.memberships(ctx, d)
		if err != nil && !tables.Absent(err) {
			return err
		}
		if err != nil {
			if d, err = r.Get(ctx, d.ID); err != nil {
				return err
			}
			return r.deleteMembers(ctx, d)
		}
		if _, err = r.Update(ctx, d.ID, func(now *schema.Device) error {
			now.Kept = schema.KeptOf(all)
			return nil
		}); err != nil {
			return err
		}
		var ops []tables.Op
		for _, m := range all {
			ops = append(ops, tables.Delete(m.Month.String(), string(m.Key()), m.ETag))
		}
		if _, err = r.Fleet.Submit(ctx, ops); !errors.Is(err, tables.ErrConflict) && !tables.Absent(err) {
			return err
		}
	}
	return fmt.Errorf("device %s: its fleet row: %w", d.ID, tables.ErrConflict)
}

// Left ends the removal of a device, which can register again as a new one from then on. The record stays, because it
// numbers the changes of the device. If its data is kept, the record also says for which tenant, month and readings
// table. It keeps the tokens that nothing has ended.
func (r Registry) Left(ctx context.Context, id schema.DeviceID, to schema.Status) error {
	_, err := r.Update(ctx, id, func(d *schema.Device) error {
		if !d.Status.Left() {
			return fmt.Errorf("device %s: %w: it is %s", id, ErrOvertaken, d.Status)
		}
		d.Status = to
		d.Tokens = slices.DeleteFunc(d.Tokens, func(t schema.Token) bool {
			return t.Policy != "" || t.Expiry < tables.TicksOf(time.Now())
		})
		if to == schema.Erased {
			d.Site, d.Position, d.Labels = "", nil, nil
			d.Former, d.Kept = nil, schema.Kept{}
		}
		return nil
	})
	return err
}

// rejoin registers a removed device again, on the version of its record that was read. Where its data is kept it gets
// its old place, so that its outputs continue and no reading is folded twice.
func (r Registry) rejoin(ctx context.Context, old, d schema.Device) (schema.Device, error) {
	d, err := rejoined(old, d)
	if err == nil {
		err = r.replace(ctx, &d)
	}
	return d, err
}

// rejoined returns the record of a removed device that registers again. Tokens that nothing has ended work on.
func rejoined(old, d schema.Device) (schema.Device, error) {
	d.Change, d.ETag, d.Tokens = old.Change, old.ETag, old.Tokens
	if old.Status == schema.Removed {
		if slices.Contains(old.Former, d.Tenant) {
			d.Tenant = old.Tenant // a move says more than the enrollment
		}
		if d.Tenant != old.Tenant || d.Readings != old.Readings {
			return old, ErrElsewhere
		}
		d.Month, d.Former, d.Kept = old.Month, old.Former, old.Kept
	}
	return d, nil
}
