package config

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"furrow/tables/schema"
)

const day = 24 * time.Hour

// parseSeconds parses a positive duration of whole seconds, in the notation of [schema.ParseDuration].
func parseSeconds(s string) (time.Duration, bool) {
	d, err := schema.ParseDuration(s)
	return d, err == nil && d > 0 && d%time.Second == 0
}

// duration reads a key that holds a duration from least to most.
func (r *reader) duration(name string, to *time.Duration, least, most time.Duration) key {
	return key{name: name, read: func(n ast.Node) {
		want := "a duration from " + schema.FormatDuration(least) + " to " + schema.FormatDuration(most) +
			", in whole seconds, such as 90s, 5m, 1h or 1d"
		text, at, ok := r.scalar(name, n, want)
		if !ok {
			return
		}
		d, ok := parseSeconds(text)
		if !ok || d < least || d > most {
			r.problem(at, "%s %s; want %s", name, quote(text), want)
			return
		}
		*to = d
	}}
}
