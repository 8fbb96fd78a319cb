package retain

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// Lower lowers the watermark of a membership that lies in the future, since a clock was ahead when retention raised it:
// to the day of the first reading that is stored, or else to the day of now, but not below the days that retention has
// come to, since they have lost rows: own is its tracking table. Pipelines follow with their next jobs, and make all
// days from there on again. It returns tables.ErrConflict if the membership has changed since it was read.
func Lower(ctx context.Context, c *tables.Client, n schema.Names, own *tables.Table, m schema.Member,
	now tables.Ticks) (to tables.Ticks, err error) {
	to = now
	first, err := firstReading(ctx, c, m, tables.Keys{})
	if err != nil {
		return 0, err
	}
	if first != "" {
		to = min(to, tables.TicksBefore(first))
	}
	passed, err := passedBy(ctx, own, m)
	if err != nil {
		return 0, err
	}
	if passed <= now { // or it is as wrong as the watermark
		to = max(to, passed)
	}
	to = to.Floor(tables.Day)
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.MemberWatermark, tables.Int64(int64(to)))
	_, err = c.Table(n.Fleet()).Do(ctx, tables.Merge(e, m.ETag))
	return to, err
}

// passedBy returns the end of the day of the last row of a membership that retention has looked at, or 0.
func passedBy(ctx context.Context, own *tables.Table, m schema.Member) (tables.Ticks, error) {
	row, err := own.Get(ctx, m.Month.String(), string(m.Key()))
	if err != nil {
		if tables.Absent(err) {
			err = nil // it has not looked at any
		}
		return 0, err
	}
	last := row.Get(schema.TrackCheckpoint).Text()
	if last == "" {
		return 0, nil
	}
	return tables.TicksBefore(last).Floor(tables.Day) + tables.Day, nil
}
