package copying

import (
	"context"
	"fmt"

	"furrow/cmd/internal/setup"
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
		n, err := c.readingsAgain(ctx)
		if inserted += n; err != nil || n == 0 && now > end {
			return inserted, err
		}
		c.Log.InfoContext(ctx, "readings of the source followed", "inserted", n, "lastToken", end.Time())
		if !setup.Pause(ctx, c.Pause) {
			return inserted, ctx.Err()
		}
	}
}

func (c *Copy) readingsAgain(ctx context.Context) (inserted int64, err error) {
	names, err := c.readings(ctx)
	if err != nil {
		return 0, err
	}
	for _, table := range names {
		p, err := copyTable(ctx, c.From.Table(table), c.To.Table(table), true, nil, func(Pass) {})
		if inserted += p.Written; err != nil {
			return inserted, fmt.Errorf("table %s: %w", table, err)
		}
	}
	return inserted, nil
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
