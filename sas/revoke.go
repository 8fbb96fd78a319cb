package sas

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrOvertaken means that a later, opposite change of a device's status took precedence.
var ErrOvertaken = errors.New("the device's status was changed again meanwhile")

// Revoke withdraws a device's right to write and to get tokens. When it returns nil, storage
// has acknowledged that no token of the device is valid any longer; after Delay that holds
// everywhere. The other devices of its cohort need one new token. With atExpiry, the device
// keeps its tokens until they expire, and no other device is affected.
//
// After an error the change may be recorded, and then any process with Run completes it.
// Revoking again changes nothing, unless the first time was with atExpiry and a token is left.
func (p *Policies) Revoke(ctx context.Context, d schema.Device, atExpiry bool) error {
	return p.change(ctx, schema.Change{Device: d.ID, To: schema.Revoked, Rotate: !atExpiry})
}

// Restore lets a device get tokens again. Its earlier tokens only work again if it was revoked
// with atExpiry. Errors mean the same as those of Revoke.
func (p *Policies) Restore(ctx context.Context, d schema.Device) error {
	return p.change(ctx, schema.Change{Device: d.ID, To: schema.Active})
}

// EndTokens ends all tokens for a readings table of the devices in these cohorts. It revokes no
// device: they can get new tokens, unless their enrollment was disabled before, which every
// endpoint then heeds at once. After an error the policies may have been replaced, and then any
// process with Run ends the tokens.
func (p *Policies) EndTokens(ctx context.Context, readings string, cohorts [schema.Cohorts]bool) error {
	return p.replacePolicies(ctx, readings, func(record *schema.Policies, before schema.Policies) {
		left := cohorts
		for i := range left { // a cohort that was moved meanwhile, by us or by another process, need not move again
			left[i] = left[i] && record.Cohorts[i].ID == before.Cohorts[i].ID
		}
		move(record, left)
	})
}

// EndAllTokens replaces every stored policy of every readings table, and returns the number of tables.
// Unlike EndTokens it replaces the spares, too: if storage was restored from a backup, there may be
// tokens for them.
func (p *Policies) EndAllTokens(ctx context.Context) (ended int, err error) {
	names, err := p.list(ctx)
	for _, readings := range names {
		if err := p.replacePolicies(ctx, readings, func(record *schema.Policies, before schema.Policies) {
			for _, policy := range record.All() {
				if !before.Ended(schema.Token{Policy: policy.ID}) {
					*policy = newPolicy()
				}
			}
		}); err != nil {
			return ended, fmt.Errorf("table %s: %w", readings, err)
		}
		ended++
	}
	return ended, err
}

// replacePolicies replaces policies of a readings table and raises its number. It may call change several times, with
// the current record and with the one before the first attempt.
func (p *Policies) replacePolicies(
	ctx context.Context, readings string, change func(record *schema.Policies, before schema.Policies),
) error {
	before, _, err := p.read(ctx, readings)
	if tables.Absent(err) {
		return nil // no token was ever issued
	}
	if err != nil {
		return err
	}
	record := before
	for try := range swaps {
		was := record
		change(&record, before)
		if record.Cohorts != was.Cohorts || record.Number == before.Number {
			record.Number++
			err = p.swap(ctx, record)
		}
		if err == nil {
			_, err = p.reconcile(ctx, readings)
			return err
		}
		if !errors.Is(err, tables.ErrConflict) {
			return err
		}
		if err = pause(ctx, try+1); err == nil {
			record, _, err = p.read(ctx, readings)
		}
		if err != nil {
			return err
		}
	}
	return tables.ErrConflict
}

func (p *Policies) change(ctx context.Context, c schema.Change) error {
	readings, err := p.add(ctx, c)
	if err != nil {
		return fmt.Errorf("device %s: the change to %s may not be recorded; try again: %w", c.Device, c.To, err)
	}
	s, err := p.reconcile(ctx, readings)
	if errors.Is(err, tables.ErrNeedsKey) && !c.Rotate {
		err = nil // the device is marked before the table's list is read, and the change needs no other list
	}
	if err == nil {
		err = s.unmarked[c.Device]
	}
	if err != nil {
		return fmt.Errorf("device %s: the change to %s is recorded but not completed; try again, "+
			"or wait for the endpoint or scheduler to complete it: %w", c.Device, c.To, err)
	}
	d, err := p.registry().Get(ctx, c.Device)
	if err == nil && !d.Status.Left() { // rules expect nothing of a revoked device
		err = p.registry().follow(ctx, d)
	}
	if err == nil || errors.Is(err, tables.ErrNoTable) { // without a table there is no fleet yet
		d, err = p.registry().Get(ctx, c.Device)
	}
	// A later change of the device removes an older one from the record, done or not.
	if err == nil && d.Status != c.To {
		err = fmt.Errorf("device %s: %w: it is %s", c.Device, ErrOvertaken, d.Status)
	}
	return err
}

func (p *Policies) registry() Registry { return NewRegistry(p.Client, p.Names) }

// add writes a change into the record of the device's table, and returns the table's name.
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
		case tables.Absent(err):
			// Ensure has created the record even if the key is missing with which it sets the table's list.
			if err := p.Ensure(ctx, d.Readings); err != nil && (c.Rotate || !errors.Is(err, tables.ErrNeedsKey)) {
				return "", err
			}
			continue
		case err != nil:
			return "", err
		}
		reads, err := p.readsCommands(ctx, d)
		switch {
		case err != nil:
			return "", err
		case has(record, d, c), needless(record, d, c, reads): // also if the response to writing it was lost
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

// has reports whether the record contains a change of the device with the effect of c. If that
// is done, the device's own record must still agree with it.
func has(record schema.Policies, d schema.Device, c schema.Change) bool {
	for _, o := range record.Changes {
		if o.Device == c.Device && o.To == c.To && (o.Rotate || !c.Rotate) {
			return !o.Done || d.Change == o.Number && d.Status == o.To
		}
	}
	return false
}

// needless reports whether the device already has the status, no change in the record would alter
// it, and no token is left to end. The last token of a revoked device tells: it gets no other, and
// tokens are recorded in the order of their policies. An earlier one may be valid for longer, so
// its expiry does not count. reads says that the device has a token for commands.
func needless(record schema.Policies, d schema.Device, c schema.Change, reads bool) bool {
	pending := func(o schema.Change) bool { return o.Device == d.ID && (!o.Done || o.Number != d.Change) }
	last := len(d.Tokens) - 1
	left := reads || last >= 0 && d.Tokens[last].Policy == record.Cohorts[Cohort(d.ID)].ID
	return d.Status == c.To && !slices.ContainsFunc(record.Changes, pending) && !(c.Rotate && left)
}

// enter adds a change to the record with the next number. The number exceeds that of the
// device's own record, which may come from the policies of an earlier readings table.
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
		// Completed changes are only kept for display: list and record are compared anyway.
		i := slices.IndexFunc(record.Changes, func(o schema.Change) bool { return o.Done })
		if i < 0 {
			return fmt.Errorf("%d changes of the policies of table %s are open, and none is completed: "+
				"check that an endpoint or a scheduler runs and reaches storage, and try again", schema.MaxChanges, record.Readings)
		}
		record.Changes = slices.Delete(record.Changes, i, i+1)
	}
	record.Changes = append(record.Changes, c)
	return nil
}
