package main

import (
	"fmt"
	"time"

	"furrow/tables"
	"furrow/worker/query"
)

// parseSpan parses the values of --from and --to. Without from, the span begins last
// before its end; without to, it ends now.
func parseSpan(from, to string, last time.Duration, now time.Time) (query.Span, error) {
	s := query.Span{To: tables.TicksOf(now)}
	var err error
	if to != "" {
		if s.To, err = query.ParseMoment(to, now); err != nil {
			return s, fmt.Errorf("--to: %w", err)
		}
	}
	s.From = max(0, s.To.Add(-last))
	if from != "" {
		if s.From, err = query.ParseMoment(from, now); err != nil {
			return s, fmt.Errorf("--from: %w", err)
		}
	}
	if s.From >= s.To {
		return s, fmt.Errorf("--from, %s, is not before --to, %s", s.From.Time().Format(time.RFC3339),
			s.To.Time().Format(time.RFC3339))
	}
	return s, nil
}
