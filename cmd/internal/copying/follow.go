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
		p, err := copyTable(ctx, c.From.Table(table), c.To.Table(table), true, nil, func(Pass) {})
		inserted += p.Written
		if err = errors.Join(err, c.noteAll(ctx, p.first, until)); err != nil {
			return inserted, fmt.Errorf("table %s: %w", table, err)
		}
	}
	return inserted, nil
}

// noteWithin bounds how long a copy that was stopped notes what it has inserted.
const noteWithin = 10 * time.Second

// noteAll notes what a pass has inserted, from the first row of each partition on. It does so after a pass that has
// failed or was stopped, too: the next one finds these rows at the destination.
func (c *Copy) noteAll(ctx context.Context, first map[string]string, until tables.Ticks) (err error) {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
	}
	for device, row := range first {
		err = errors.Join(err, c.noteLate(ctx, schema.DeviceID(device), tables.TicksBefore(row), until))
	}
	return err
}

// noteLate has the pipelines of the destination fold a device's rows again that came there with the account's key: it
// may rest, and their checkpoints may have passed these rows.
func (c *Copy) noteLate(ctx context.Context, device schema.DeviceID, from, to tables.Ticks) error {
	registry := sas.NewRegistry(c.To, c.Names)
	d, err := registry.Get(ctx, device)
	if err == nil {
		_, err = registry.NoteImport(ctx, d, schema.Import{From: from, To: to, Late: true}, true)
	}
	if tables.Absent(err) { // it has been removed
		return nil
	}
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
