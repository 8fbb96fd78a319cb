package retain

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// Lower lowers the watermark of a membership that lies in the future, since a clock was ahead when retention raised it:
// to the day of the first reading that is stored, or else to the day of now. Pipelines follow with their next jobs, and
// make all days from there on again. It returns tables.ErrConflict if the membership has changed since it was read.
func Lower(ctx context.Context, c *tables.Client, n schema.Names, m schema.Member, now tables.Ticks) (to tables.Ticks,
	err error) {
	to = now
	first, err := firstReading(ctx, c, m, tables.Keys{})
	if err != nil {
		return 0, err
	}
	if first != "" {
		to = min(to, tables.TicksBefore(first))
	}
	to = to.Floor(tables.Day)
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(to)))
	_, err = c.Table(n.Fleet()).Do(ctx, tables.Merge(e, m.ETag))
	return to, err
}
