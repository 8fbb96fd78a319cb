package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
)

// A Span is the time that a question is about: from From on, and before To.
type Span struct{ From, To tables.Ticks }

// Length is how long it is.
func (s Span) Length() time.Duration { return s.To.Time().Sub(s.From.Time()) }

func (s Span) String() string {
	return "from " + s.From.Time().Format(time.RFC3339) + " to " + s.To.Time().Format(time.RFC3339)
}

// ParseSpan reads what the flags say. Without From, it begins last before its
// end; without To, it ends now.
func ParseSpan(from, to string, last time.Duration, now time.Time) (Span, error) {
	s := Span{To: tables.TicksOf(now)}
	var err error
	if to != "" {
		if s.To, err = ParseMoment(to, now); err != nil {
			return s, fmt.Errorf("--to: %w", err)
		}
	}
	s.From = max(0, s.To.Add(-last))
	if from != "" {
		if s.From, err = ParseMoment(from, now); err != nil {
			return s, fmt.Errorf("--from: %w", err)
		}
	}
	if s.From >= s.To {
		return s, fmt.Errorf("--from, %s, is not before --to, %s", s.From.Time().Format(time.RFC3339), s.To.Time().Format(time.RFC3339))
	}
	return s, nil
}

// ParseMoment reads a time: RFC 3339, the same without a zone for UTC, a date
// for its midnight UTC, "now", a time before now such as -2h or -7d, or ticks.
func ParseMoment(text string, now time.Time) (tables.Ticks, error) {
	if text == "now" {
		return tables.TicksOf(now), nil
	}
	if age, ok := strings.CutPrefix(text, "-"); ok {
		d, err := ParseLength(age)
		return max(0, tables.TicksOf(now).Add(-d)), err
	}
	if ticks, err := tables.ParseTicks(text); err == nil {
		return ticks, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return tables.TicksOf(t), nil
		}
	}
	return 0, fmt.Errorf("%q is no time; write 2026-11-20, 2026-11-20T08:00:00Z, or -2h for two hours ago", text)
}

// ParseLength reads a length of time as time.ParseDuration does, or in days or weeks: 7d, 2w.
func ParseLength(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is no length of time; write 90m, 24h, 7d or 2w", text)
	for letter, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, letter); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil || n > uint64(longest/unit) {
				return 0, wrong
			}
			return time.Duration(n) * unit, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, wrong
	}
	return d, nil
}

// longest is more than 250 years, which a Duration still holds.
const longest = 13_000 * 7 * 24 * time.Hour
