package query

import (
	"time"

	"furrow/tables"
)

// A Span is a time from From (inclusive) to To (exclusive).
type Span struct{ From, To tables.Ticks }

func (s Span) Length() time.Duration { return s.To.Time().Sub(s.From.Time()) }

func (s Span) String() string {
	return "from " + s.From.Time().Format(time.RFC3339) + " to " + s.To.Time().Format(time.RFC3339)
}

// rows returns the row keys of the readings of the span.
func (s Span) rows() tables.Keys { return tables.Keys{From: s.From.String(), Before: s.To.String()} }
