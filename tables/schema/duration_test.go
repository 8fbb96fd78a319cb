package schema

import (
	"testing"
	"time"
)

func TestDurationsHaveOneNotation(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1m": time.Minute, "1h30m": 90 * time.Minute,
		"250ms": 250 * time.Millisecond,
		"8d":    8 * day, "1d12h": 36 * time.Hour, "2w": 14 * day, "1w1d1h": 8*day + time.Hour, "13000w": MaxDuration,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
		if again, err := ParseDuration(FormatDuration(want)); err != nil || again != want {
			t.Errorf("%v is formatted as %q, which is parsed as %v, %v", want, FormatDuration(want), again, err)
		}
	}
	for _, text := range []string{"", "1", "soon", "-1h", "+1h", "1h-1m", "-1d", "1.5d", "1h1d", "1d1w", "d",
		"99999999999d", "13000w1s", "1000000000h", "1 d", "0x1p2h"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, got)
		}
	}
}
