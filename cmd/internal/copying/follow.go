package copying

import (
	"context"
	"errors"
	"fmt"
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
		n, err := c.readingsAgain(ctx, max(end, now).Add(24*time.Hour))
		if inserted += n; err != nil || n == 0 && now > end {
			return inserted, err
		}
		c.Log.InfoContext(ctx, "readings of the source followed", "inserted", n, "lastToken", end.Time())
		if !setup.Pause(ctx, c.Pause) {
			return inserted, ctx.Err()
		}
	}
}

// readingsAgain inserts readings that are missing at the destination. All have row keys before until.
func (c *Copy) readingsAgain(ctx context.Context, until tables.Ticks) (inserted int64, err error) {
	names, err := c.readings(ctx)
	if err != nil {
		return 0, err
	}
	for _, table := range names {
		p := &pass{Pass: Pass{Table: table, Readings: true}, to: c.To.Table(table), insert: true, own: true}
		f := &follower{registry: sas.NewRegistry(c.To, c.Names), readings: p.to, until: until}
		p.write = f.write
		err := errors.Join(p.run(ctx, c.From.Table(table), func(Pass) {}), f.end(ctx))
		if inserted += p.Written; err != nil {
			return inserted, fmt.Errorf("table %s: %w", table, err)
		}
	}
	return inserted, nil
}

// A follower inserts readings, device by device, and has the pipelines of the destination fold them: they come there
// with the account's key, so that the device may rest, and the checkpoints may have passed these rows.
type follower struct {
	registry sas.Registry
	readings *tables.Table
	until    tables.Ticks
	device   string
	past     *sas.PastWriter // of the device; nil: it has been removed
}

func (f *follower) write(ctx context.Context, ops []tables.Op) error {
	first := ops[0].Entity
	if first.PartitionKey != f.device {
		if err := f.end(ctx); err != nil {
			return err
		}
		d, err := f.registry.Get(ctx, schema.DeviceID(first.PartitionKey))
		if err != nil && !tables.Absent(err) {
			return err
		}
		if f.device = first.PartitionKey; err == nil {
			f.past = f.registry.WritePast(d, f.readings, schema.Import{
				From: tables.TicksBefore(first.RowKey), To: f.until, Late: true})
		}
	}
	if f.past != nil {
		if err := f.past.Insert(ctx, ops); !tables.Absent(err) {
			return err
		}
		f.past = nil // it has just been removed
	}
	_, err := f.readings.Submit(ctx, ops)
	return err
}

// end ends the note of a device, unless it has been removed.
func (f *follower) end(ctx context.Context) (err error) {
	if f.past != nil {
		err = f.past.End(ctx)
	}
	if tables.Absent(err) {
		err = nil
	}
	f.device, f.past = "", nil
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
