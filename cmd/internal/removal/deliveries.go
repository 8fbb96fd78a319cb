package removal

import (
	"context"
	"errors"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
)

// deliveries deletes what is still to be sent about a device, except what ends an alarm: a target that was told of an
// incident is told that it has closed. That leaves nothing behind once it is sent. It runs before the records of
// deliveries are deleted.
func (e Eraser) deliveries(ctx context.Context, d schema.Device) (err error) {
	for range unproductive {
		if err = e.tryDeliveries(ctx, d); !errors.Is(err, tables.ErrConflict) {
			break
		}
	}
	return err
}

// tryDeliveries fails with tables.ErrConflict if a job has sent one meanwhile.
func (e Eraser) tryDeliveries(ctx context.Context, d schema.Device) error {
	table := e.Tables.Table(e.Names.Deliveries())
	for row, err := range table.Entities(ctx, tables.Query{Filter: "Device eq '" + string(d.ID) + "'"}) {
		if err != nil {
			return err
		}
		delivery, err := schema.DeliveryOf(row)
		if err != nil {
			return err
		}
		ends := false
		if row.PartitionKey != schema.GivenUp(delivery.Target) && !delivery.Erased {
			if ends, err = e.ends(ctx, delivery); err != nil {
				return err
			}
		}
		op := tables.Delete(row.PartitionKey, row.RowKey, delivery.ETag)
		if ends || delivery.Erased {
			mark := tables.Entity{PartitionKey: row.PartitionKey, RowKey: row.RowKey}
			mark.Set(schema.DeliveryErased, tables.Boolean(true))
			op = tables.Merge(mark, delivery.ETag)
		}
		if _, err := table.Do(ctx, op); err != nil && !errors.Is(err, tables.ErrNotFound) {
			return err
		}
	}
	return nil
}

// ends reports whether a delivery tells of a closing, and the target knows of the opening or may be about to.
func (e Eraser) ends(ctx context.Context, d schema.Delivery) (bool, error) {
	if d.Opens() {
		return d.Attempts > 0 && d.Repeat == 0, nil // a job may be sending it
	}
	d.Number--
	for _, what := range []string{schema.Opened, schema.Announced} {
		d.What = what
		pk, rk := d.Keys()
		row, err := e.Tables.Table(e.Names.Deliveries()).Get(ctx, pk, rk)
		if err == nil && row.Get("Attempts").Int() > 0 {
			return true, nil
		}
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return false, err
		}
	}
	pk, rk := d.RecordKeys()
	row, err := e.Tables.Table(e.Names.Output(rules.Table)).Get(ctx, pk, rk)
	if tables.Absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r, err := schema.DeliveryRecordOf(row)
	return r.Outcome == schema.Delivered, err
}
