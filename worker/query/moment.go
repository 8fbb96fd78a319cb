package query

import (
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ParseMoment parses a time: RFC 3339, the same without a zone for UTC, a date for its
// midnight UTC, "now", a time before now such as -2h or -7d, or ticks.
func ParseMoment(text string, now time.Time) (tables.Ticks, error) {
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
