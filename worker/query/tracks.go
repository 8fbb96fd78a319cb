package query

import (
	"context"
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Track returns a pipeline's tracking row of a member; false where it has none yet.
func (f Fleet) Track(ctx context.Context, p schema.Pipeline, m schema.Member) (schema.Track, bool, error) {
	return get(ctx, f.Tables.Table(f.Names.Partitions(p)), m.Month.String(), string(m.Key()), schema.TrackOf)
}

// Waiting returns the time of a member's oldest reading after a checkpoint; zero where there is none.
func (f Fleet) Waiting(ctx context.Context, m schema.Member, checkpoint string) (tables.Ticks, error) {
	in := tables.RowsAfter(string(m.Device), checkpoint, tables.TicksOf(time.Now()).String())
	e, _, err := first(ctx, f.Tables.Table(m.Readings), in)
	return TimeOf(e.RowKey), err
}

// Failing yields the tracking rows of the selected devices that fail in a pipeline, of one
// month or, for the zero Month, of all. Storage scans every tracking row, but sends only
// these.
func (f Fleet) Failing(
	ctx context.Context, p schema.Pipeline, in schema.Month, s DeviceSelector,
) iter.Seq2[schema.Track, error] {
	q := tables.Query{Filter: schema.TracksFailing(), Select: schema.TrackProperties(),
		Range: tables.Range{Rows: s.memberships()}}
	if in != (schema.Month{}) {
		q.Range.Partitions = tables.Is(in.String())
	}
	t := f.Tables.Table(f.Names.Partitions(p))
	return func(yield func(schema.Track, error) bool) {
		for track, err := range decoded(t, rows(ctx, t, q), whole(schema.TrackOf)) {
			if (err != nil || s.selects(track.Place.Device())) && !yield(track, err) {
				return
			}
		}
	}
}
