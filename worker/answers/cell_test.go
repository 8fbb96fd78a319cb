package answers

import (
	"testing"
	"time"
)

func TestExactTimesAreThoseOfTheirLayout(t *testing.T) {
	at := time.Date(2026, 11, 30, 23, 59, 59, 999_999_999, time.FixedZone("", -7*3600))
	for _, at := range []time.Time{at, at.Truncate(time.Second), at.Truncate(time.Millisecond), at.Add(1),
		at.AddDate(-2025, 0, 0), at.AddDate(7974, 0, 0), at.AddDate(-2027, 0, 0), {}} {
		if got, want := exactly(at), at.UTC().Format(exactTime); got != want {
			t.Errorf("%v is %s, not %s", at, got, want)
		}
	}
}
