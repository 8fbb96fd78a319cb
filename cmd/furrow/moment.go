package main

import (
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// parseSpan parses the values of --from and --to. Without from, the span begins last
// before its end; without to, it ends now.
func parseSpan(from, to string, last time.Duration, now time.Time) (query.Span, error) {
	s := query.Span{To: tables.TicksOf(now)}
	var err error
	if to != "" {
		if s.To, err = parseMoment(to, now); err != nil {
			return s, fmt.Errorf("--to: %w", err)
		}
	}
	s.From = max(0, s.To.Add(-last))
	if from != "" {
		if s.From, err = parseMoment(from, now); err != nil {
			return s, fmt.Errorf("--from: %w", err)
		}
	}
	if s.From >= s.To {
		return s, fmt.Errorf("--from, %s, is not before --to, %s", s.From.Time().Format(time.RFC3339),
			s.To.Time().Format(time.RFC3339))
	}
	return s, nil
}

// parseMoment parses a time: RFC 3339, the same without a zone for UTC, a date for its
// midnight UTC, "now", a time before now such as -2h or -7d, or ticks.
func parseMoment(text string, now time.Time) (tables.Ticks, error) {
	if text == "now" {
		return tables.TicksOf(now), nil
	}
	if age, ok := strings.CutPrefix(text, "-"); ok {
		d, err := schema.ParseDuration(age)
		return max(0, tables.TicksOf(now).Add(-d)), err
	}
	if ticks, err := tables.ParseTicks(text); err == nil {
		return ticks, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return tables.TicksOf(t), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time: write 2026-11-20, 2026-11-20T08:00:00Z, or -2h for two hours ago", text)
}
