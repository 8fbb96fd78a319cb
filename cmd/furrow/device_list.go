package main

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func deviceListCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "List devices in the order of their IDs",
		Description: `The list is read page by page, up to --limit. Except for --prefix, --after and --limit, filters do not
reduce what storage reads; combine them with --prefix in a large fleet.` + examples("device list", "device list --tenant contoso --prefix pump- --json"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Only IDs that start with `PREFIX`"},
			&cli.StringFlag{Name: "after", Usage: "Only IDs after `ID`, the end of an earlier list"},
			&cli.StringFlag{Name: "tenant", Usage: "Only devices of `TENANT`"},
			&cli.StringFlag{Name: "site", Usage: "Only devices at `SITE`"},
			&cli.StringFlag{Name: "enrollment", Usage: "Only devices of the enrollment `ID`"},
			&cli.StringFlag{Name: "month", Usage: "Only devices of `MONTH`, such as 2026-11, or 2026-11.03 for one shard"},
			choiceFlag("status", "active and revoked", []string{string(schema.Active), string(schema.Revoked),
				string(schema.Removed), string(schema.Erased), string(schema.Removing)},
				"Only devices with this `STATUS`: active, revoked, removed (their data is kept), erased or removing"),
			&cli.StringSliceFlag{Name: "label", Usage: "Only devices with the label `NAME=TEXT`; if repeated, with all of them"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "At most `NUMBER` devices"},
			listFlags()[0], listFlags()[1]),
		Action: deviceList,
	}
}

func deviceList(c *cli.Context) error {
	if err := checkAnswer(c); err != nil {
		return err
	}
	q, labels, err := listQuestion(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	var last schema.DeviceID
	more := false
	devices := listed(s.Tables.Table(s.Names.Devices()).Rows(c.Context, q), labels, c.IsSet("status"), c.Int("limit"),
		&last, &more)
	if err := answer(c, devices, func() (string, error) {
		return "no such device", knownTenant(c, s.reader(), schema.Tenant(c.String("tenant")))
	}); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.App.ErrWriter, "furrow: there may be more: continue with --after %s\n", last)
	}
	return nil
}

// listQuestion returns the query for the flags, and the labels to filter by.
func listQuestion(c *cli.Context) (q tables.Query, labels map[string]string, err error) {
	if q.Range.Partitions, err = schema.IDsWithPrefix(c.String("prefix")); err != nil {
		return q, nil, usagef(c, "--prefix: %v", err)
	}
	if after := c.String("after"); after != "" {
		if _, err := schema.ParseDeviceID(after); err != nil {
			return q, nil, usagef(c, "--after: %v", err)
		}
		q.Range.Partitions.After = after
	}
	var terms []string
	for _, f := range listFilters() {
		if !c.IsSet(f.flag) {
			continue
		}
		text := c.String(f.flag)
		if err := f.check(text); err != nil {
			return q, nil, usagef(c, "--%s: %v", f.flag, err)
		}
		terms = append(terms, f.property+" eq "+tables.Literal(text))
	}
	q.Filter = strings.Join(terms, " and ")
	if labels, err = labelsOf(c); err != nil {
		return q, nil, err
	}
	if len(labels) == 0 { // with labels, the number of rows to read is unknown
		q.Size = min(c.Int("limit"), 1000)
	}
	return q, labels, nil
}

// A listFilter is a flag that storage can filter by.
type listFilter struct {
	flag, property string
	check          func(text string) error
}

func listFilters() []listFilter {
	return []listFilter{
		{"tenant", "Tenant", func(s string) error { _, err := schema.ParseTenant(s); return err }},
		{"site", "Site", func(s string) error { _, err := schema.ParseSite(s); return err }},
		{"enrollment", "Enrollment", func(s string) error { _, err := schema.ParseEnrollmentID(s); return err }},
		{"month", "Month", func(s string) error { _, err := schema.ParseMonth(s); return err }},
		{"status", "Status", func(string) error { return nil }}, // a choice
	}
}

// listed returns the devices of pages that have the labels, up to limit. It sets last to the
// last device, and more if there may be others.
func listed(
	pages iter.Seq2[tables.Page, error], labels map[string]string, removed bool, limit int, last *schema.DeviceID,
	more *bool,
) iter.Seq2[deviceRecord, error] {
	return func(yield func(deviceRecord, error) bool) {
		n := 0
		for page, err := range pages {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(deviceRecord{}, err)
				return
			}
			for i, e := range page.Rows {
				d, err := schema.DeviceOf(e)
				if err == nil && (!hasLabels(d, labels) || d.Status.Left() && !removed) {
					continue
				}
				if err != nil {
					err = &query.UnreadableError{Table: "devices", PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err}
				}
				if !yield(deviceRecord{Device: d}, err) {
					return
				}
				if err != nil {
					continue
				}
				*last = d.ID
				if n++; n == limit {
					*more = i+1 < len(page.Rows) || page.Next != tables.Continuation{}
					return
				}
			}
		}
	}
}

func hasLabels(d schema.Device, labels map[string]string) bool {
	for name, text := range labels {
		if has, there := d.Labels[name]; !there || has != text {
			return false
		}
	}
	return true
}
