package query

import (
	"context"
	"errors"

	"furrow/tables"
	"furrow/tables/schema"
)

// Targets returns the states of a pipeline's targets of notifications, by their names. A target that nothing was for
// has none. It takes one query.
func (f Progress) Targets(ctx context.Context, p schema.Pipeline) (all []schema.TargetState, err error) {
	states := tables.Query{Range: schema.TargetStates(p)}
	for s, err := range recordsOf(ctx, f.Tables.Table(f.Names.Runs()), states, schema.TargetStateOf) {
		if errors.Is(err, schema.ErrNewer) {
			continue // a newer version of furrow shows it
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
