package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker/price"
)

// Defaults of an enrollment.
const (
	defaultLife      = time.Hour
	defaultBackfill  = 7 * 24 * time.Hour
	defaultSendEvery = time.Minute
	defaultBatch     = 100
)

// policyFlags are the flags of an enrollment that can be changed later.
func policyFlags() []cli.Flag {
	return []cli.Flag{
		durationFlagUpTo("life", defaultLife, time.Minute, schema.MaxLife,
			"Token life as `DURATION`, from 1m to 90d; more than a day is for firmware that requests tokens only at boot"),
		durationFlagUpTo("backfill", defaultBackfill, 0, schema.MaxBackfill,
			"Maximum age of a row as `DURATION` when its token is issued, from 0 to 3660d"),
		&cli.StringFlag{Name: "site", Usage: "`SITE` of devices that register themselves"},
		&cli.StringSliceFlag{Name: "label", Usage: "Label of devices that register themselves, as `NAME=TEXT`; may be " +
			"repeated"},
		&cli.StringFlag{Name: "prefix", Usage: "`PREFIX` that the IDs of new devices must have, such as contoso: (an empty " +
			"text removes it); no other enrollment's devices can register themselves under it"},
		&cli.IntFlag{Name: "max-devices", DefaultText: "no limit", Usage: "Maximum `NUMBER` of devices that may register " +
			"themselves; those that were added or imported do not count, and 0 is no limit"},
		&cli.IntFlag{Name: "rate", DefaultText: "no limit", Usage: "Maximum `TOKENS` per minute at each endpoint; a burst " +
			"may be as many, and 0 is no limit"},
		boolFlag("commands", fmt.Sprintf("Give devices a second token that reads their commands and desired configuration; "+
			"each reads every %s, for about $%.4f a month", short(sas.PollEvery), pollPrice())),
		boolFlag("import-only", "Issue tokens only to devices that were added or imported"),
		boolFlag("written-by-others", "Somebody else writes rows of its devices, with the account's key: every run looks "+
			"at all of them, also at those without a token"),
		&cli.IntFlag{Name: "shards", DefaultText: "1", Usage: "`NUMBER` of partitions for the devices of a month: one for " +
			"about 5,000 devices"},
		durationFlag("send-every", defaultSendEvery, time.Second,
			"Suggested `DURATION` between sends"),
		&cli.IntFlag{Name: "batch", DefaultText: fmt.Sprint(defaultBatch),
			Usage: "Suggested `NUMBER` of rows per request, from 1 to 100"},
	}
}

// When a revocation ends tokens: the values of --revocation.
const (
	revocationAtOnce   = "at-once"
	revocationAtExpiry = "at-expiry"
)

// pollPrice returns what a device costs in a month, in US dollars, because it reads its commands.
func pollPrice() float64 { return pollsPerMonth() * price.Azure().Operation("tables query") }

func pollsPerMonth() float64 { return float64(price.Month) / float64(sas.PollEvery) }

// applyPolicy applies the given flags to e.
func applyPolicy(c *cli.Context, e *schema.Enrollment) (err error) {
	for _, f := range []struct {
		name string
		to   *time.Duration
	}{{"life", &e.Life}, {"backfill", &e.Backfill}, {"send-every", &e.SendEvery}} {
		if c.IsSet(f.name) {
			*f.to = durationOf(c, f.name)
		}
	}
	if c.IsSet("site") {
		if e.Site, err = parsed(c, "site", schema.ParseSite); err != nil {
			return err
		}
	}
	if c.IsSet("label") {
		if e.Labels, err = labelsOf(c); err != nil {
			return err
		}
	}
	if c.IsSet("prefix") {
		e.Prefix = c.String("prefix")
	}
	for name, to := range map[string]*int{"rate": &e.Rate, "max-devices": &e.MaxDevices} {
		if c.IsSet(name) {
			*to = c.Int(name)
		}
	}
	for name, to := range map[string]*bool{"import-only": &e.ImportOnly, "commands": &e.Commands,
		"written-by-others": &e.Others} {
		if c.IsSet(name) {
			*to = c.Bool(name)
		}
	}
	for name, to := range map[string]*int{"shards": &e.Shards, "batch": &e.Batch} {
		if c.IsSet(name) {
			if err := between(c, 1, 100, name); err != nil {
				return err
			}
			*to = c.Int(name)
		}
	}
	if _, err := e.Entity(); err != nil {
		return usagef(c, "%v", err)
	}
	return nil
}

// labelsOf reads --label.
func labelsOf(c *cli.Context) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range c.StringSlice("label") {
		name, value, ok := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usagef(c, "--label %q: write NAME=TEXT", text)
		}
		if _, twice := labels[name]; twice {
			return nil, usagef(c, "--label %s is repeated", name)
		}
		labels[name] = value
	}
	if err := schema.CheckLabels(labels); err != nil {
		return nil, usagef(c, "--label: %v", err)
	}
	return labels, nil
}
