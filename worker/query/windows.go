package query

import (
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Windows returns the windows for which the scope's tenants have rollups, the shortest
// first. It takes one request for each.
func (f Outputs) Windows(ctx context.Context, scope Scope) ([]schema.Window, error) {
	var all []schema.Window
	for _, t := range scope.tenants() {
		keys := schema.OfTenant(t)
		next := func(pk string) tables.Keys {
			p, _ := schema.ParseRollupPartition(pk)
			return tables.Keys{From: t.Key() + schema.Separator + p.Window.String() + afterSeparator, Before: keys.Before}
		}
		for pk, err := range leaping(ctx, f.rollups(), keys, next) {
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

// mostBuckets is the number of buckets of a device that a person can still read.
const mostBuckets = 200

// Choose returns the shortest window that divides the span into at most mostBuckets, or
// else the longest window.
func Choose(windows []schema.Window, span time.Duration) schema.Window {
	for _, w := range windows {
		if span/time.Duration(w) <= mostBuckets {
			return w
		}
	}
	return windows[len(windows)-1]
}

// A Span is a time from From (inclusive) to To (exclusive).
type Span struct{ From, To tables.Ticks }

func (s Span) Length() time.Duration { return s.To.Time().Sub(s.From.Time()) }

func (s Span) String() string {
	return "from " + s.From.Time().Format(time.RFC3339) + " to " + s.To.Time().Format(time.RFC3339)
}

// rows returns the row keys of the readings of the span.
func (s Span) rows() tables.Keys { return tables.Keys{From: s.From.String(), Before: s.To.String()} }
