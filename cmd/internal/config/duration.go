package config

import (
	"furrow/tables/schema"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

const day = 24 * time.Hour

// longest is what any duration may be.
const longest = 3660 * day

// ParseDuration reads durations as Go writes them, and days before them: 90s, 1m,
// 8d, 1d12h. They are whole seconds, more than none and at most longest.
func ParseDuration(s string) (time.Duration, bool) {
	var sum time.Duration
	if days, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		sum, s = time.Duration(n)*day, rest
	}
	if s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > longest || strings.ContainsAny(s, "+-") {
			return 0, false
		}
		sum += d
	}
	return sum, sum > 0 && sum <= longest && sum%time.Second == 0
}

// formatDuration writes one in the largest unit that fits, as windows are written.
func formatDuration(d time.Duration) string { return schema.Window(d).String() }

// duration reads one of at least least and at most most, in a key of that name.
func (r *reader) duration(name string, to *time.Duration, least, most time.Duration) key {
	return key{name: name, read: func(n ast.Node) {
		want := "a duration from " + formatDuration(least) + " to " + formatDuration(most) + ", in whole seconds, such as 90s, 5m, 1h or 1d"
		text, at, ok := r.scalar(name, n, want)
		if !ok {
			return
		}
		d, ok := ParseDuration(text)
		if !ok || d < least || d > most {
			r.problem(at, "%s %s; want %s", name, quote(text), want)
			return
		}
		*to = d
	}}
}
