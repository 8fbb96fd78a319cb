package query

import (
	"context"

	"furrow/jobs/coverage"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Folded is a pipeline's tracking row of a member, with what it says of days.
type Folded struct {
	schema.Track
	Days []FoldedDay // the newest first
}

// A FoldedDay is how many readings of a day a pipeline has folded of a device.
type FoldedDay struct {
	Day    string `json:"day"`              // UTC
	Rows   int64  `json:"rows"`             // Readings, late ones included. Of a sealed day, the count is forgotten: 0.
	Sealed bool   `json:"sealed,omitempty"` // an audit has counted the day, and no reading can come any more
	Again  bool   `json:"again,omitempty"`  // it is to be folded again
}

// Folded returns a pipeline's tracking row of a member, with the days from the first to the last one; without days
// where there is no row yet. The row itself has the counts, so they cost no request.
func (f Progress) Folded(
	ctx context.Context, p schema.Pipeline, m schema.Member, first, last schema.Day,
) (Folded, error) {
	table := f.Tables.Table(f.Names.Partitions(p))
	all, _, err := get(ctx, table, m.Month.String(), string(m.Key()), func(e tables.Entity) (all Folded, err error) {
		if all.Track, err = schema.TrackOf(e); err != nil {
			return all, err
		}
		row, err := tracking.RowOf(e)
		if err == nil {
			all.Days = daysOf(row, first, last)
		}
		return all, err
	})
	return all, err
}

// daysOf returns what a tracking row says of days.
func daysOf(row *tracking.Row, first, last schema.Day) (all []FoldedDay) {
	counts := map[schema.Day]int64{}
	for day, n := range row.Ledger.Days() {
		counts[day] += n
	}
	for day := last; day >= first; day-- {
		is := row.Coverage.Parts(coverage.Window{From: day.Start(), To: (day + 1).Start()})[0]
		all = append(all, FoldedDay{Day: day.String(), Rows: counts[day], Sealed: is.Sealed, Again: is.Stale()})
	}
	return all
}
