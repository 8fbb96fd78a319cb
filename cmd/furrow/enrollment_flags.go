package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
)

// What an enrollment has where nothing is said.
const (
	defaultLife      = time.Hour
	defaultBackfill  = 7 * 24 * time.Hour
	defaultSendEvery = time.Minute
	defaultBatch     = 100
)

// policyFlags are what can be said of an enrollment, and changed later.
func policyFlags() []cli.Flag {
	return []cli.Flag{
		durationFlagUpTo("life", defaultLife, time.Minute, schema.MaxLife, "how `DURATION` a token lives, from 1m to 90d; more than a day is for firmware that asks only when it boots"),
		durationFlagUpTo("backfill", defaultBackfill, 0, schema.MaxBackfill, "how `DURATION` before its token a row may have been taken, from 0 to 3660d"),
		&cli.StringFlag{Name: "site", Usage: "`SITE` of devices that register by themselves"},
		&cli.StringSliceFlag{Name: "label", Usage: "`NAME=TEXT` of devices that register by themselves; repeat it for several"},
		&cli.BoolFlag{Name: "import-only", Usage: "give tokens only to devices that were added or imported"},
		&cli.IntFlag{Name: "shards", DefaultText: "1", Usage: "`NUMBER` of partitions that the devices of a month are spread over: one for about 5,000"},
		durationFlag("send-every", defaultSendEvery, time.Second, "how `DURATION` devices are advised to wait between sending"),
		&cli.IntFlag{Name: "batch", DefaultText: fmt.Sprint(defaultBatch), Usage: "`NUMBER` of rows that devices are advised to send at once, from 1 to 100"},
	}
}

// applyPolicy gives e what the flags say.
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
		if e.Site, err = schema.ParseSite(c.String("site")); err != nil {
			return usagef(c, "--site: %v", err)
		}
	}
	if c.IsSet("label") {
		if e.Labels, err = labelsOf(c); err != nil {
			return err
		}
	}
	if c.IsSet("import-only") {
		e.ImportOnly = c.Bool("import-only")
	}
	for name, to := range map[string]*int{"shards": &e.Shards, "batch": &e.Batch} {
		if c.IsSet(name) {
			if *to = c.Int(name); *to < 1 || *to > 100 {
				return usagef(c, "--%s is %d; it must be from 1 to 100", name, *to)
			}
		}
	}
	if _, err := e.Entity(); err != nil {
		return usagef(c, "%v", err)
	}
	return nil
}

// labelsOf are those of --label.
func labelsOf(c *cli.Context) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range c.StringSlice("label") {
		name, value, ok := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usagef(c, "--label %q: write NAME=TEXT", text)
		}
		if _, twice := labels[name]; twice {
			return nil, usagef(c, "--label %s is there twice", name)
		}
		labels[name] = value
	}
	if err := schema.CheckLabels(labels); err != nil {
		return nil, usagef(c, "--label: %v", err)
	}
	return labels, nil
}
