package query

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

func TestTimesAreParsedInEveryForm(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now": now, "-2h": now.Add(-2 * time.Hour), "-1h30m": now.Add(-90 * time.Minute), "-7d": now.AddDate(0, 0,
			-7), "-2w": now.AddDate(0, 0, -14),
		"2026-11-20":                  time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"2026-11-20T08:00:00Z":        time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		"2026-11-20T08:00:00.5+02:00": time.Date(2026, 11, 20, 6, 0, 0, 500e6, time.UTC),
		"2026-11-20T08:00":            time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		"2026-11-20 08:00:01":         time.Date(2026, 11, 20, 8, 0, 1, 0, time.UTC),
		tables.TicksOf(now).String():  now,
	} {
		if got, err := ParseMoment(text, now); err != nil || got != tables.TicksOf(want) {
			t.Errorf("%s is %v, %v; want %v", text, got.Time(), err, want)
		}
	}
	for _, text := range []string{"", "-", "2h", "yesterday", "2026-13-01", "-2x", "--2h", "12:00",
		"2026-11-20T25:00:00Z"} {
		if got, err := ParseMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got.Time())
		}
	}
}

func FuzzMoments(f *testing.F) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for _, text := range []string{"-7d", "2026-11-20", "-9999999999w", "-1.5h", "now", "0639000000000000000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := ParseMoment(text, now)
		if err == nil && (at < 0 || at > tables.MaxTicks) {
			t.Errorf("%q is %d", text, at)
		}
		if strings.HasPrefix(text, "-") && err == nil && at > tables.TicksOf(now) {
			t.Errorf("%q lies ahead", text)
		}
	})
}
