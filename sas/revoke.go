package sas

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrOvertaken says that a change of a device's status came to nothing, as another
// came later and says the opposite.
var ErrOvertaken = errors.New("the device's status was changed again meanwhile")

// Revoke takes a device's right to write away, and to get tokens. When it returns
// nil, storage has acknowledged that no token that the device ever got holds any
// longer; Delay later that is so everywhere. The other devices of its cohort need one
// new token. At expiry, the device keeps the tokens that it has until they expire,
// and no other device is touched.
//
// After an error the change may be recorded; if it is, whatever process runs Run
// carries it on. To revoke again is safe, and costs its cohort another new token
// unless the change is still open.
func (p *Policies) Revoke(ctx context.Context, d schema.Device, atExpiry bool) error {
	return p.change(ctx, schema.Change{Device: d.ID, To: schema.Revoked, Rotate: !atExpiry})
}

// Restore lets a device have tokens again. Those that it had before work again
// only where it was revoked at expiry. After an error it is as with Revoke.
func (p *Policies) Restore(ctx context.Context, d schema.Device) error {
	return p.change(ctx, schema.Change{Device: d.ID, To: schema.Active})
}

func (p *Policies) change(ctx context.Context, c schema.Change) error {
	readings, err := p.add(ctx, c)
	if err != nil {
		return fmt.Errorf("device %s: it may not be recorded that it is to be %s; try again: %w", c.Device, c.To, err)
	}
	s, err := p.settle(ctx, readings)
	if err == nil {
		err = s.unmarked[c.Device]
	}
	if err != nil {
		return fmt.Errorf("device %s: it is recorded that it is to be %s, and not done yet; try again, or leave it to the processes that run: %w", c.Device, c.To, err)
	}
	// A later change of the device takes an older one out of the record, done or not.
	d, err := p.registry().Get(ctx, c.Device)
	if err == nil && d.Status != c.To {
		err = fmt.Errorf("device %s: %w: it is %s", c.Device, ErrOvertaken, d.Status)
	}
	return err
}

func (p *Policies) registry() Registry { return NewRegistry(p.Client, p.Names) }

// add writes a change into the record of the device's table, which it returns.
func (p *Policies) add(ctx context.Context, c schema.Change) (readings string, err error) {
	for try := range swaps {
		if err = pause(ctx, try); err != nil {
			return "", err
		}
		d, err := p.registry().Get(ctx, c.Device)
		if err != nil {
			return "", err
		}
		record, now, err := p.read(ctx, d.Readings)
		switch {
		case missing(err):
			if err := p.Ensure(ctx, d.Readings); err != nil {
				return "", err
			}
			continue
		case err != nil:
			return "", err
		case has(record, d, c): // also where the answer to writing it was lost
			return d.Readings, nil
		}
		c.At = tables.TicksOf(now)
		if err := enter(&record, d, c); err != nil {
			return "", err
		}
		if err := p.swap(ctx, record); !errors.Is(err, tables.ErrConflict) {
			return d.Readings, err
		}
	}
	return "", tables.ErrConflict
}

// has tells whether the record holds a change of the device that does what c does.
// One that is done must still be what the device's own record says.
func has(record schema.Policies, d schema.Device, c schema.Change) bool {
	for _, o := range record.Changes {
		if o.Device == c.Device && o.To == c.To && (o.Rotate || !c.Rotate) {
			return !o.Done || d.Change == o.Number && d.Status == o.To
		}
	}
	return false
}

// enter gives a change the next number, and adds it to those of the record. It
// outranks what the device's own record has seen, also where that was a change
// of another record: the device may have had another table.
func enter(record *schema.Policies, d schema.Device, c schema.Change) error {
	record.Number = max(record.Number, d.Change) + 1
	c.Number = record.Number
	record.Changes = slices.DeleteFunc(record.Changes, func(o schema.Change) bool {
		if o.Device == c.Device && o.To == schema.Revoked && c.To == schema.Revoked {
			c.Rotate = c.Rotate || o.Rotate && !o.Done
		}
		return o.Device == c.Device
	})
	if len(record.Changes) == schema.MaxChanges {
		// What is done stays only to be seen: list and record are compared in any case.
		i := slices.IndexFunc(record.Changes, func(o schema.Change) bool { return o.Done })
		if i < 0 {
			return fmt.Errorf("%d changes of the policies of table %s are open, and none is done: see to it that a sas endpoint or a scheduler runs and reaches storage, and try again", schema.MaxChanges, record.Readings)
		}
		record.Changes = slices.Delete(record.Changes, i, i+1)
	}
	record.Changes = append(record.Changes, c)
	return nil
}
