package copying

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// Follow inserts readings that devices still write to the source, after Finish, until the last token for it has ended
// and a pass adds nothing. It returns how many it inserted. It may be stopped and repeated.
func (c *Copy) Follow(ctx context.Context) (inserted int64, err error) {
	for {
		end, now, err := c.lastToken(ctx)
		if err != nil {
			return inserted, err
		}
		n, waits, err := c.readingsAgain(ctx, max(end, now).Add(24*time.Hour))
		if inserted += n; err != nil || n == 0 && waits == "" && now > end {
			return inserted, err
		}
		c.Log.InfoContext(ctx, "readings of the source followed", "inserted", n, "lastToken", end.Time(),
			"removing", waits)
		if !setup.Pause(ctx, c.Pause) {
			return inserted, ctx.Err()
		}
	}
}

// readingsAgain inserts readings that are missing at the destination. All have row keys before until. Those of a device
// that is being removed wait: it returns one such device.
func (c *Copy) readingsAgain(ctx context.Context, until tables.Ticks) (inserted int64, waits string, err error) {
	names, err := c.readings(ctx)
	if err != nil {
		return 0, "", err
	}
	for _, table := range names {
		p := &pass{Pass: Pass{Table: table, Readings: true}, to: c.To.Table(table), insert: true, own: true}
		f := &follower{registry: sas.NewRegistry(c.To, c.Names), readings: p.to, until: until}
		p.write = f.write
		err := errors.Join(p.run(ctx, c.From.Table(table), func(Pass) {}), f.end(ctx))
		inserted, waits = inserted+f.inserted, cmp.Or(waits, f.waits)
		if err != nil {
			return inserted, waits, fmt.Errorf("table %s: %w", table, err)
		}
	}
	return inserted, waits, nil
}

// A follower inserts readings, device by device, and has the pipelines of the destination fold them: they come there
// with the account's key, so that the device may rest, and the checkpoints may have passed these rows. It inserts none
// that retention or the removal of a device has deleted there.
type follower struct {
	registry sas.Registry
	readings *tables.Table
	until    tables.Ticks
	inserted int64
	waits    string // a device that is being removed, perhaps with its data: the next pass knows

	id      string        // of the device
	device  schema.Device // without an ID: it has no record
	members []schema.Member
	past    *sas.PastWriter // of the device; nil: it has no note
}

func (f *follower) write(ctx context.Context, ops []tables.Op) (err error) {
	if id := ops[0].Entity.PartitionKey; id != f.id || f.device.Status == schema.Removed { // it may be erased meanwhile
		if err := f.end(ctx); err != nil {
			return err
		}
		if err := f.begin(ctx, id); err != nil {
			return err
		}
	}
	ops = slices.DeleteFunc(slices.Clone(ops), func(op tables.Op) bool { return f.deleted(op.Entity.RowKey) })
	if len(ops) == 0 {
		return nil
	}
	if f.device.Status == schema.Removing {
		f.waits = f.id
		return nil
	}
	if f.past == nil && f.device.ID != "" && f.device.Status != schema.Removed {
		f.past = f.registry.WritePast(f.device, f.readings, schema.Import{
			From: tables.TicksBefore(ops[0].Entity.RowKey), To: f.until, Late: true})
	}
	if f.past == nil {
		_, err = f.readings.Submit(ctx, ops)
	} else if err = f.past.Insert(ctx, ops); tables.Absent(err) { // its removal has just begun
		f.device.Status, f.past, f.waits = schema.Removing, nil, f.id
		return nil
	}
	if err == nil {
		f.inserted += int64(len(ops))
	}
	return err
}

// begin reads what the destination knows of a device: its memberships, or those that its record keeps since it left.
func (f *follower) begin(ctx context.Context, id string) (err error) {
	if f.device, err = f.registry.Get(ctx, schema.DeviceID(id)); err != nil && !tables.Absent(err) {
		return err
	}
	f.id, f.members = id, nil
	if err != nil {
		return nil
	}
	for _, t := range f.device.Tenants() {
		m := f.device.Of(t)
		e, err := f.registry.Fleet.Get(ctx, m.Month.String(), string(m.Key()))
		if err == nil {
			m, err = schema.MemberOf(e)
		}
		if err != nil && !tables.Absent(err) {
			return err
		}
		f.members = append(f.members, m)
	}
	return nil
}

// deleted reports whether a reading that is missing was deleted: with all that a device had, or by retention.
func (f *follower) deleted(rowKey string) bool {
	at := tables.TicksBefore(rowKey)
	return f.device.Status == schema.Erased || slices.ContainsFunc(f.members, func(m schema.Member) bool {
		return m.Has(at) && at < m.Watermark
	})
}

// end ends the note of a device, unless it has been removed.
func (f *follower) end(ctx context.Context) (err error) {
	if f.past != nil {
		err = f.past.End(ctx)
	}
	if tables.Absent(err) {
		err = nil
	}
	f.id, f.device, f.members, f.past = "", schema.Device{}, nil, nil
	return err
}

// lastToken returns when the last token for the source ends, and its time.
func (c *Copy) lastToken(ctx context.Context) (end, now tables.Ticks, err error) {
	for page, err := range c.From.Table(c.Names.Devices()).Rows(ctx, tables.Query{}) {
		if err != nil {
			return 0, 0, err
		}
		now = max(now, tables.TicksOf(page.Time))
		for _, e := range page.Rows {
			d, err := schema.DeviceOf(e)
			if err != nil {
				return 0, 0, err
			}
			for _, t := range d.Tokens {
				end = max(end, t.Expiry)
			}
		}
	}
	return end, now, nil
}
