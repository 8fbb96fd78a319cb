package query

import (
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Windows are those that the scope's tenants have rollups of, the shortest first.
// Each is found with one request.
func (s Source) Windows(ctx context.Context, scope Scope) ([]schema.Window, error) {
	var all []schema.Window
	for _, t := range scope.tenants() {
		keys := schema.OfTenant(t)
		next := func(pk string) tables.Keys {
			p, _ := schema.ParseRollupPartition(pk)
			return tables.Keys{From: t.Key() + schema.Separator + p.Window.String() + afterSeparator, Before: keys.Before}
		}
		for pk, err := range seek(ctx, s.rollups(), keys, next) {
			if err != nil {
				return nil, err
			}
			p, err := schema.ParseRollupPartition(pk)
			if err != nil {
				return nil, err
			}
			all = append(all, p.Window)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// afterSeparator is the character after schema.Separator.
const afterSeparator = `"`

// mostBuckets is how many buckets of a device are still read with ease.
const mostBuckets = 200

// Choose is the shortest window that gives a span no more than mostBuckets, or
// the longest that there is.
func Choose(windows []schema.Window, span time.Duration) schema.Window {
	for _, w := range windows {
		if span/time.Duration(w) <= mostBuckets {
			return w
		}
	}
	return windows[len(windows)-1]
}
