package query

import (
	"context"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// Track is a pipeline's tracking row of a member; false where it has none yet.
func (f Fleet) Track(ctx context.Context, p schema.Pipeline, m schema.Member) (schema.Track, bool, error) {
	t := f.Tables.Table(f.Names.Partitions(p))
	e, err := t.Get(ctx, m.Month.String(), string(m.Key()))
	if absent(err) {
		return schema.Track{}, false, nil
	}
	if err != nil {
		return schema.Track{}, false, err
	}
	track, err := schema.TrackOf(e)
	if err != nil {
		err = &UnreadableError{t.Name, e.PartitionKey, e.RowKey, "", err}
	}
	return track, err == nil, err
}

// Failing are the tracking rows of the selected devices that fail in a pipeline, of one
// month or, for the zero Month, of all. Storage looks at every tracking row, and sends
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
