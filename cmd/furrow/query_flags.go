package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

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

// queryScope reads the flags that select devices, and looks for them.
func queryScope(c *cli.Context, f query.Devices) (scope query.Scope, err error) {
	switch {
	case c.IsSet("tenant"):
		scope, err = f.ScopeOfTenant(c.String("tenant"))
	case c.IsSet("prefix") && c.String("prefix") == "":
		return scope, usagef(c, "--prefix is empty")
	case c.IsSet("prefix"):
		scope, err = f.ScopeOfPrefix(c.Context, c.String("prefix"))
	default:
		scope, err = f.ScopeOfDevice(c.Context, c.Args().First())
	}
	if _, wrong := errors.AsType[*query.NameError](err); wrong {
		return scope, usagef(c, "%v", err)
	}
	return scope, err
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
	modes := queryModes()
	for i, m := range modes {
		var others []string
		for _, o := range modes[i+1:] {
			if o.flag != m.with {
				others = append(others, o.flag)
			}
		}
		for _, other := range append(others, strings.Fields(m.without)...) {
			if c.IsSet(m.flag) && c.IsSet(other) {
				return usagef(c, "%s", excluded(m.flag, other))
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

func anySet(c *cli.Context, names ...string) bool { return slices.ContainsFunc(names, c.IsSet) }

// querySpan reads --from, --to and --last.
func querySpan(c *cli.Context) (query.Span, error) {
	if c.IsSet("from") && c.IsSet("last") {
		return query.Span{}, usagef(c, "--from and --last exclude each other")
	}
	return spanOf(c, c.String("from"), c.String("to"), durationOf(c, "last"))
}
