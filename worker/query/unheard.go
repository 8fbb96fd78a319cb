package query

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// Unheard returns the enrollments for which audits since a time have found rows that no token admitted.
func (f Progress) Unheard(
	ctx context.Context, p schema.Pipeline, since tables.Ticks,
) (all []schema.Unheard, err error) {
	for e, err := range f.Tables.Table(f.Names.Runs()).Entities(ctx, tables.Query{Range: schema.UnheardRows(p)}) {
		if err != nil {
			return nil, err
		}
		u, err := schema.UnheardOf(e)
		if err != nil {
			return nil, err
		}
		if u.At >= since {
			all = append(all, u)
		}
	}
	return all, nil
}
