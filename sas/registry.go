package sas

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Registry stores the devices of a fleet: for each a record, a row of the table fleet through
// which runs find the device, and if it registered itself, its place in its enrollment.
type Registry struct {
	Devices *tables.Table
	Fleet   *tables.Table
	Places  Places
	// Prefixes keep new devices from being imported under the prefix of another enrollment. nil: nothing does.
	Prefixes *Enrollments
}

// NewRegistry returns the registry of the fleet with these names.
func NewRegistry(c *tables.Client, names schema.Names) Registry {
	return Registry{Devices: c.Table(names.Devices()), Fleet: c.Table(names.Fleet()),
		Places: Places{c.Table(names.Places())}}
}

// Get returns the record of a device, or tables.ErrNotFound, also if the table does not exist.
func (r Registry) Get(ctx context.Context, id schema.DeviceID) (schema.Device, error) {
	e, err := r.Devices.Get(ctx, string(id), schema.DeviceRow)
	if errors.Is(err, tables.ErrNoTable) {
		err = fmt.Errorf("%w: %w", tables.ErrNotFound, err)
	}
	if err != nil {
		return schema.Device{}, err
	}
	return schema.DeviceOf(e)
}

// Register stores a device's record first and its fleet row second, and returns the stored
// record. It keeps an existing record unless the device was removed, and completes an
// interrupted registration.
func (r Registry) Register(ctx context.Context, d schema.Device) (schema.Device, error) {
	d.ETag = ""
	err := write(ctx, r.Devices, d, &d.ETag)
	if errors.Is(err, tables.ErrExists) {
		stored, err := r.Get(ctx, d.ID)
		if err == nil && stored.Status.MayRegister() {
			stored, err = r.rejoin(ctx, stored, d)
		}
		if err == nil && !stored.Status.Left() {
			err = r.follow(ctx, stored)
		}
		return stored, err
	}
	if err != nil {
		return d, err
	}
	awake := tables.Ticks(0)
	if d.Enrollment != "" { // else it has no tokens, and somebody else writes its rows
		awake = schema.NeverAwake // its issuer finds or inserts the row before it notes the first token
	}
	return d, r.insertMembers(ctx, d, 0, awake)
}

// insertMembers inserts the fleet row of a new device, or all that were kept of one that was removed, or updates the
// row if it exists. Where the device was before counts until now. An inserted row says until when tokens let the device
// write; zero: nobody knows.
func (r Registry) insertMembers(ctx context.Context, d schema.Device, now, awake tables.Ticks) error {
	if len(d.Tenants()) > 1 && len(d.Kept.Members) == 0 {
		return fmt.Errorf("device %s: its fleet row: %w: it has belonged to other tenants, and nothing else says when",
			d.ID, tables.ErrNotFound)
	}
	var ops []tables.Op
	for _, t := range d.Tenants() {
		m := d.Of(t)
		if t != d.Tenant && len(m.Spans) == 0 {
			continue // it never belonged to this tenant, whatever was begun
		}
		if m.Next == "" {
			m.Relocate(d.Site, d.Labels, now)
		}
		m.Awake = awake
		e, err := m.Entity()
		if err != nil {
			return err
		}
		ops = append(ops, tables.Insert(e))
	}
	var err error
	if len(ops) == 1 { // as nearly always
		_, err = r.Fleet.Do(ctx, ops[0])
	} else {
		_, err = r.Fleet.Submit(ctx, ops)
	}
	if errors.Is(err, tables.ErrExists) {
		return r.follow(ctx, d)
	}
	return err
}

// restoreMembers inserts the missing fleet rows of a device, unless they are missing because the
// device has just been removed.
func (r Registry) restoreMembers(ctx context.Context, d schema.Device, at tables.Ticks) error {
	if err := r.insertMembers(ctx, d, at, 0); err != nil {
		return err
	}
	now, err := r.Get(ctx, d.ID)
	if err == nil && now.Status.Left() {
		err = r.deleteMembers(ctx, d)
	}
	return err
}

// deleteMembers deletes the fleet rows of a device.
func (r Registry) deleteMembers(ctx context.Context, d schema.Device) error {
	for _, t := range d.Tenants() {
		at := d.Of(t).Place()
		_, err := r.Fleet.Do(ctx, tables.Delete(at.Month.String(), string(at.Key), tables.AnyETag))
		if err != nil && !tables.Absent(err) {
			return fmt.Errorf("device %s: its fleet row: %w", d.ID, err)
		}
	}
	return nil
}

// follow makes a device's fleet row agree with its record, and inserts a missing row. Where a move was interrupted, the
// record follows the fleet: the row says which tenant has the device now. Otherwise follow reads
// the row before the record and replaces only that version of the row, so that after concurrent
// changes the row agrees with the last record.
func (r Registry) follow(ctx context.Context, d schema.Device) error {
	for range tries {
		stored, now, err := r.memberOf(ctx, d, d.Tenant)
		switch {
		case tables.Absent(err):
			return r.restoreMembers(ctx, d, now)
		case errors.Is(err, schema.ErrNewer):
			return nil // the row exists, and a newer program maintains it
		case err == nil && stored.Next != "":
			if d, err = r.finishMove(ctx, stored); err != nil {
				return err
			}
			continue
		case err != nil || stored.Agrees(d.Member()):
			return err
		}
		if d, err = r.Get(ctx, d.ID); err != nil {
			return err
		}
		if d.Tenant != stored.Tenant {
			continue // it has moved meanwhile
		}
		want := d.Member()
		want.Spans, want.Imports, want.Watermark = stored.Spans, stored.Imports, stored.Watermark
		want.Admits, want.Awake = stored.Admits, stored.Awake
		was := stored
		was.Relocate(want.Site, want.Labels, now)
		want.Placements = was.Placements
		e, err := want.Entity()
		if err != nil {
			return err
		}
		if _, err = r.Fleet.Do(ctx, tables.Replace(e, stored.ETag)); !errors.Is(err, tables.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("device %s: its fleet row: %w", d.ID, tables.ErrConflict)
}

// Change changes the record of a device and then its fleet row, and returns the stored record.
// If it is interrupted in between, a repeat or the device's next token request updates the row.
func (r Registry) Change(
	ctx context.Context, id schema.DeviceID, change func(*schema.Device) error,
) (schema.Device, error) {
	d, err := r.Update(ctx, id, func(d *schema.Device) error {
		if err := change(d); err != nil {
			return err
		}
		return schema.CheckLabels(d.Labels)
	})
	if err != nil {
		return d, err
	}
	return d, r.follow(ctx, d)
}

// tries bounds the attempts to change a record that others change at the same time. Such
// conflicts are rare, so only a fault exhausts them.
const tries = 10

// Update changes the record of a device and returns the stored result. It may call change
// several times, and stops at its first error.
func (r Registry) Update(
	ctx context.Context, id schema.DeviceID, change func(*schema.Device) error,
) (d schema.Device, err error) {
	for range tries {
		if d, err = r.Get(ctx, id); err != nil {
			return d, err
		}
		if err := change(&d); err != nil {
			return d, err
		}
		d.NotedIn = ""
		if err = r.replace(ctx, &d); !errors.Is(err, tables.ErrConflict) {
			return d, err
		}
	}
	return d, err
}

// store replaces the version of a record that was read. A record without a version is inserted, and then its fleet row
// with its note; it is a conflict if another process has inserted one.
func (r Registry) store(ctx context.Context, d *schema.Device) error {
	if d.ETag != "" {
		return r.replace(ctx, d)
	}
	err := write(ctx, r.Devices, d, &d.ETag)
	if errors.Is(err, tables.ErrExists) {
		return fmt.Errorf("%w: %w", tables.ErrConflict, err)
	}
	if err != nil {
		return err
	}
	return r.insertMembers(ctx, *d, 0, d.Noted)
}

// replace writes d if the stored record still has d's version.
func (r Registry) replace(ctx context.Context, d *schema.Device) error {
	return write(ctx, r.Devices, d, &d.ETag)
}

// write inserts a row, or replaces it if version says what is stored, and updates version.
func write(ctx context.Context, t *tables.Table, row interface{ Entity() (tables.Entity, error) },
	version *tables.ETag) error {
	e, err := row.Entity()
	if err != nil {
		return err
	}
	op := tables.Insert(e)
	if *version != "" {
		op = tables.Replace(e, *version)
	}
	written, err := t.Do(ctx, op)
	if err == nil {
		*version = written.ETags[0]
	}
	return err
}
