package main

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"furrow/jobs/condition"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// queryQuestion reads the flags, except those that select devices.
func queryQuestion(c *cli.Context) (q query.Question, err error) {
	if err := checkQuery(c); err != nil {
		return q, err
	}
	var errs [4]error
	q.Sensors, errs[0] = sensorsOf(c)
	q.Window, errs[1] = parsed(c, "window", schema.ParseWindow)
	q.Filter, errs[2] = queryFilter(c)
	q.Span, errs[3] = querySpan(c)
	q.Limit = c.Int("limit")
	return q, cmp.Or(errs[:]...)
}

// sensorsOf reads --sensors.
func sensorsOf(c *cli.Context) ([]string, error) {
	names := words(c.String("sensors"))
	if c.IsSet("sensors") && len(names) == 0 {
		return nil, usagef(c, "--sensors is empty")
	}
	if err := query.CheckSensors(names); err != nil {
		return nil, usagef(c, "--sensors: %v", err)
	}
	return names, nil
}

// queryFilter reads the flags that leave out devices and records.
func queryFilter(c *cli.Context) (f query.Filter, err error) {
	if f.Site, err = parsed(c, "site", schema.ParseSite); err != nil {
		return f, err
	}
	if f.Labels, err = labelsOf(c); err != nil {
		return f, err
	}
	f.Model = c.String("model")
	if !c.IsSet("where") {
		return f, nil
	}
	var members []string
	if !anySet(c, "raw", "latest") {
		members = query.BucketMembers()
	}
	if f.Where, err = condition.Parse(c.String("where"), members...); err != nil {
		return f, usagef(c, "--where: %v", err)
	}
	return f, nil
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
	case c.IsSet("row-key") && (c.NArg() != 1 || c.String("row-key") == ""):
		return usagef(c, "--row-key is of one reading of one DEVICE, such as --row-key 0639307656000000000")
	case c.NArg() == 1 && anySet(c, "site", "label", "model"):
		return usagef(c, "--site, --label and --model select among devices: give them with --prefix or --tenant, not with "+
			"one DEVICE")
	case c.Bool("raw") && c.IsSet("where") && !anySet(c, "from", "last"):
		return usagef(c, "--where with --raw reads every row of a span: give it with --last, such as --last 24h, or --from")
	}
	return nil
}

// checkExclusions refuses two flags that make no sense together.
func checkExclusions(c *cli.Context) error {
	for _, group := range exclusions() {
		for _, other := range group[1:] {
			if c.IsSet(group[0]) && c.IsSet(other) {
				return usagef(c, "%s", excluded(group[0], other))
			}
		}
	}
	return nil
}

// excluded says why two flags make no sense together.
func excluded(flag, other string) string {
	switch other {
	case "window":
		return "--window applies to rollups and rates, not to --" + flag
	case "from", "to", "last":
		return "--" + flag + " takes no --from, --to or --last"
	}
	return "--" + flag + " and --" + other + " exclude each other"
}

// exclusions has flags, each before those that make no sense with it.
func exclusions() [][]string {
	return [][]string{
		{"outliers", "prefix", "where", "raw", "tail", "row-key", "states", "gaps", "latest", "rate", "window", "from", "to",
			"last"},
		{"by", "prefix", "where", "raw", "tail", "row-key", "states", "gaps", "latest", "rate"},
		{"row-key", "tail", "states", "gaps", "latest", "rate", "window", "from", "to", "last", "limit", "where"},
		{"tail", "states", "gaps", "latest", "rate", "window", "from", "to", "last", "limit", "where"},
		{"gaps", "states", "raw", "latest", "rate", "window", "where", "sensors"},
		{"states", "raw", "latest", "rate", "window", "where"},
		{"raw", "latest", "rate", "window"},
		{"latest", "window", "from", "to", "last"},
		{"rate", "where"},
	}
}

func anySet(c *cli.Context, names ...string) bool { return slices.ContainsFunc(names, c.IsSet) }

// querySpan reads --from, --to and --last.
func querySpan(c *cli.Context) (query.Span, error) {
	if c.IsSet("from") && c.IsSet("last") {
		return query.Span{}, usagef(c, "--from and --last exclude each other")
	}
	return spanOf(c, c.String("from"), c.String("to"), durationOf(c, "last"))
}
