package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func deviceListCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "List devices in the order of their IDs",
		Description: `The list is read page by page, up to --limit. Except for --prefix, --after and --limit, filters do not
reduce what storage reads; combine them with --prefix in a large fleet. --where takes a condition on the newest values
and labels of each device, as 'furrow query --latest' does.` + examples(
			"device list",
			"device list --tenant contoso --prefix pump- --json",
			`device list --where 'battery < 3.1 and labels.class == "Fryer"'`),
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
			&cli.StringFlag{Name: "where", Usage: "Only devices for which `CONDITION` holds, such as 'oil > 190'"},
			limitFlag("At most `NUMBER` devices"),
			listFlags()[0], listFlags()[1]),
		Action: deviceList,
	}
}

func deviceList(c *cli.Context) error {
	q, filter, err := listQuestion(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	list := deviceListing{fleet: s.reader(), filter: filter, removed: c.IsSet("status"), limit: c.Int("limit")}
	devices := list.recordsOf(c.Context, s.Tables.Table(s.Names.Devices()).Rows(c.Context, q))
	if err := answer(c, devices, func() (string, error) {
		return "no devices", knownTenant(c, s.reader().Devices(), schema.Tenant(c.String("tenant")))
	}); err != nil {
		return err
	}
	if list.more {
		fmt.Fprintf(c.App.ErrWriter, "furrow: there may be more: continue with --after %s\n", list.last)
	}
	return nil
}

// listQuestion returns the query for the flags, and the filter for what storage does not filter.
func listQuestion(c *cli.Context) (q tables.Query, filter query.Filter, err error) {
	if q.Range.Partitions, err = schema.IDsWithPrefix(c.String("prefix")); err != nil {
		return q, filter, usagef(c, "--prefix: %v", err)
	}
	if after := c.String("after"); after != "" {
		if _, err := schema.ParseDeviceID(after); err != nil {
			return q, filter, usagef(c, "--after: %v", err)
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
			return q, filter, usagef(c, "--%s: %v", f.flag, err)
		}
		terms = append(terms, f.property+" eq "+tables.Literal(text))
	}
	q.Filter = strings.Join(terms, " and ")
	if filter.Labels, err = labelsOf(c); err != nil {
		return q, filter, err
	}
	if c.IsSet("where") {
		if filter.Where, err = condition.Parse(c.String("where")); err != nil {
			return q, filter, usagef(c, "--where: %v", err)
		}
	}
	if len(filter.Labels) == 0 && filter.Where == nil { // with them, the number of rows to read is unknown
		q.Size = min(c.Int("limit"), 1000)
	}
	return q, filter, nil
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

// A deviceListing lists devices that a filter selects.
type deviceListing struct {
	fleet   query.Fleet
	filter  query.Filter
	removed bool // lists those that were removed, too
	limit   int  // 0: none

	last schema.DeviceID // the last that was listed
	more bool            // there may be others
}

// recordsOf returns the devices of pages of records, up to the limit.
func (l *deviceListing) recordsOf(
	ctx context.Context, pages iter.Seq2[tables.Page, error],
) iter.Seq2[answers.Record, error] {
	return func(yield func(answers.Record, error) bool) {
		n := 0
		for page, err := range pages {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(answers.Record{}, err)
				return
			}
			report := func(err error) bool { return yield(answers.Record{}, err) }
			devices, ok := l.passing(page.Rows, report)
			if ok {
				devices, ok = l.holding(ctx, devices, report)
			}
			if !ok {
				return
			}
			for i, d := range devices {
				l.last = d.ID
				if !yield(answers.RecordOf(d), nil) {
					return
				}
				if n++; n == l.limit {
					l.more = i+1 < len(devices) || page.Next != tables.Continuation{}
					return
				}
			}
		}
	}
}

// passing returns the devices that pass the filter, apart from its condition; false where the list has to end.
func (l *deviceListing) passing(rows []tables.Entity, report func(error) bool) (devices []schema.Device, ok bool) {
	for _, e := range rows {
		d, err := schema.DeviceOf(e)
		if err != nil {
			err = &schema.UnreadableError{Table: "devices", PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err}
			if !report(err) {
				return nil, false
			}
			continue
		}
		if (l.removed || !d.Status.Left()) && (query.Question{Filter: l.filter}).SelectsMember(d.Member()) {
			devices = append(devices, d)
		}
	}
	return devices, true
}

// holding returns the devices for which the condition holds; false where the list has to end.
func (l *deviceListing) holding(
	ctx context.Context, devices []schema.Device, report func(error) bool,
) ([]schema.Device, bool) {
	where := l.filter.Where
	if where == nil || len(devices) == 0 {
		return devices, true
	}
	newest := map[schema.DeviceID]query.Newest{}
	if sensors := where.Sensors(); len(sensors) > 0 {
		ask := query.Question{Scope: query.ScopeOfDevices(devices), Sensors: sensors}
		for n, err := range l.fleet.Outputs().Latest(ctx, ask) {
			if err != nil && !report(err) {
				return nil, false
			}
			newest[n.Device] = n
		}
	}
	return slices.DeleteFunc(devices, func(d schema.Device) bool {
		return !where.Holds(newest[d.ID].Row(d.Labels))
	}), true
}
