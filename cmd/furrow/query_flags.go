package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// queryQuestion reads the flags, except those that select devices.
func queryQuestion(c *cli.Context) (q query.Question, err error) {
	if err := checkQuery(c); err != nil {
		return q, err
	}
	if q.Sensors = words(c.String("sensors")); c.IsSet("sensors") && len(q.Sensors) == 0 {
		return q, usagef(c, "--sensors is empty")
	}
	if err := query.CheckSensors(q.Sensors); err != nil {
		return q, usagef(c, "--sensors: %v", err)
	}
	if text := c.String("window"); text != "" {
		if q.Window, err = schema.ParseWindow(text); err != nil {
			return q, usagef(c, "--window: %v", err)
		}
	}
	q.Limit = c.Int("limit")
	q.Span, err = querySpan(c)
	return q, err
}

// checkQuery refuses flags that contradict each other.
func checkQuery(c *cli.Context) error {
	scopes := c.NArg()
	for _, name := range []string{"prefix", "tenant"} {
		if c.IsSet(name) {
			scopes++
		}
	}
	switch {
	case scopes != 1:
		return usagef(c, "name one DEVICE, a --prefix of IDs, or a --tenant")
	case c.IsSet("tail") && c.Int("tail") < 1:
		return usagef(c, "--tail is %d; it must be at least 1", c.Int("tail"))
	case c.IsSet("tail") && c.NArg() != 1:
		return usagef(c, "--tail is of one DEVICE")
	case c.IsSet("tail") && anySet(c, "latest", "rate", "window", "from", "to", "last", "limit"):
		return usagef(c, "--tail takes none of --latest, --rate, --window, --from, --to, --last and --limit")
	case c.Bool("raw") && c.Bool("latest"):
		return usagef(c, "--raw and --latest exclude each other")
	case c.Bool("raw") && c.Bool("rate"):
		return usagef(c, "--raw and --rate exclude each other")
	case c.IsSet("window") && (c.Bool("raw") || c.Bool("latest")):
		return usagef(c, "--window applies to rollups, not to --raw or --latest")
	case c.Bool("latest") && (c.IsSet("from") || c.IsSet("to") || c.IsSet("last")):
		return usagef(c, "--latest takes no --from, --to or --last")
	case c.Bool("raw") && c.IsSet("tenant"):
		return usagef(c, "--raw: %v", query.ErrTenantReadings)
	}
	return checkAnswer(c)
}

func anySet(c *cli.Context, names ...string) bool { return slices.ContainsFunc(names, c.IsSet) }

// querySpan reads --from, --to and --last.
func querySpan(c *cli.Context) (query.Span, error) {
	if c.IsSet("from") && c.IsSet("last") {
		return query.Span{}, usagef(c, "--from and --last exclude each other")
	}
	span, err := parseSpan(c.String("from"), c.String("to"), durationOf(c, "last"), time.Now())
	if err != nil {
		return span, usagef(c, "%v", err)
	}
	return span, nil
}
