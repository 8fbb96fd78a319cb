package sas

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Registry is the devices of a fleet: for each a record, and a row of the
// table fleet by which runs find it.
type Registry struct {
	Devices *tables.Table
	Fleet   *tables.Table
}

// NewRegistry is the registry of the fleet with these names.
func NewRegistry(c *tables.Client, names schema.Names) Registry {
	return Registry{Devices: c.Table(names.Devices()), Fleet: c.Table(names.Fleet())}
}

// Get is the record of a device, or tables.ErrNotFound. A fleet without a table
// of devices has none.
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

// Register makes the device known, record first, fleet row second, and returns
// what is stored: where there is a record it stays as it is, and what an earlier
// attempt has left undone is completed.
func (r Registry) Register(ctx context.Context, d schema.Device) (schema.Device, error) {
	e, err := d.Entity()
	if err != nil {
		return d, err
	}
	switch written, err := r.Devices.Do(ctx, tables.Insert(e)); {
	case errors.Is(err, tables.ErrExists):
		if d, err = r.Get(ctx, d.ID); err != nil {
			return d, err
		}
	case err != nil:
		return d, err
	default:
		d.ETag = written.ETags[0]
	}
	return d, r.complete(ctx, d)
}

// complete puts the device into the fleet, where it may be already. It replaces
// nothing: a row that is there may hold what others have set.
func (r Registry) complete(ctx context.Context, d schema.Device) error {
	e, err := d.Member().Entity()
	if err != nil {
		return err
	}
	if _, err = r.Fleet.Do(ctx, tables.Insert(e)); errors.Is(err, tables.ErrExists) {
		return nil
	}
	return err
}

// tries is how often a change begins anew because the record has changed
// meanwhile. Others change it rarely: only a fault makes it run out.
const tries = 10

// Update changes the record of a device, and returns it as it is stored then. The
// change may be asked for several times; its error ends the update.
func (r Registry) Update(ctx context.Context, id schema.DeviceID, change func(*schema.Device) error) (d schema.Device, err error) {
	for range tries {
		if d, err = r.Get(ctx, id); err != nil {
			return d, err
		}
		if err := change(&d); err != nil {
			return d, err
		}
		if err = r.replace(ctx, &d); !errors.Is(err, tables.ErrConflict) {
			return d, err
		}
	}
	return d, err
}

// replace writes d where its record is the one that was read.
func (r Registry) replace(ctx context.Context, d *schema.Device) error {
	e, err := d.Entity()
	if err != nil {
		return err
	}
	written, err := r.Devices.Do(ctx, tables.Replace(e, d.ETag))
	if err == nil {
		d.ETag = written.ETags[0]
	}
	return err
}
