package main

import (
	"strings"
	"testing"
	"time"
)

func TestSpansHaveABeginningBeforeTheirEnd(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to string
		want     string
	}{
		{"", "", "from 2026-11-20T10:30:00Z to 2026-11-21T10:30:00Z"},
		{"", "2026-11-02", "from 2026-11-01T00:00:00Z to 2026-11-02T00:00:00Z"},
		{"2026-11-01", "", "from 2026-11-01T00:00:00Z to 2026-11-21T10:30:00Z"},
		{"2026-11-01", "2026-11-03", "from 2026-11-01T00:00:00Z to 2026-11-03T00:00:00Z"},
		{"2026-11-03", "2026-11-01", "is not before"},
		{"now", "", "is not before"},
		{"", "x", "--to"},
		{"x", "", "--from"},
	} {
		s, err := parseSpan(c.from, c.to, 24*time.Hour, now)
		if got := s.String(); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q to %q is %s, %v; want %s", c.from, c.to, got, err, c.want)
		}
	}
}
