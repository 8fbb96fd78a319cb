package schema

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDuration bounds durations in flags and in the configuration.
const MaxDuration = 13_000 * 7 * 24 * time.Hour

// ParseDuration parses a duration of flags and of the configuration: weeks, days and then what
// [time.ParseDuration] takes, each optional, without a sign: 90s, 5m, 1h30m, 7d, 1d12h, 2w, 250ms. 0 needs no unit.
func ParseDuration(s string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is not a duration; want one such as 90s, 5m, 1h30m, 7d or 2w", s)
	rest, sum := s, time.Duration(0)
	for _, u := range []struct {
		letter string
		unit   time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, after, ok := strings.Cut(rest, u.letter)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > uint64(MaxDuration/u.unit) {
			return 0, wrong
		}
		sum, rest = sum+time.Duration(n)*u.unit, after
	}
	if rest != "" || s == "" {
		d, err := time.ParseDuration(rest)
		if err != nil || strings.ContainsAny(rest, "+-") || d > MaxDuration {
			return 0, wrong
		}
		sum += d
	}
	if sum > MaxDuration {
		return 0, wrong
	}
	return sum, nil
}

// Overdue is how many stated intervals pass without a reading until a device is silent.
const Overdue = 3

// FormatDuration formats whole seconds in the largest unit up to days that divides them: 90s, 1h, 7d. Other durations
// have the text of [time.Duration].
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return Window(d).String()
}
