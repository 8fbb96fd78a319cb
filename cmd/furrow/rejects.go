package main

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/query"
	"furrow/tables"
	"furrow/tables/schema"
)

func rejectsCommand() *cli.Command {
	return &cli.Command{
		Name:      "rejects",
		Usage:     "Show rejected rows and the reasons",
		ArgsUsage: "[DEVICE]",
		Description: "Rejects of one DEVICE, of the devices whose ids begin with --prefix, of a --tenant, or of all devices; the newest of\n" +
			"each device last. A row is rejected as a whole, or only some of its values are, and the rest is folded.\n" +
			fmt.Sprintf("Each pipeline keeps the newest %d rejects of a device and counts all: where some are no longer kept, a line on\n", schema.RejectSlots) +
			"standard error says how many were rejected. A span is one of row keys; other keys are compared as texts." +
			examples("rejects pump-7", "rejects --tenant contoso --from -24h", "rejects --summary"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "the devices whose ids begin with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "the devices of `TENANT`"},
			&cli.StringFlag{Name: "from", DefaultText: "the beginning", Usage: "`TIME` from which on, as furrow query takes it"},
			&cli.StringFlag{Name: "to", DefaultText: "the end", Usage: "`TIME` before which"},
			&cli.BoolFlag{Name: "summary", Usage: "count them by reason, whatever sensors and values the reasons name"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "print no more than `NUMBER` of them"},
			&cli.BoolFlag{Name: "json", Usage: "print lines of JSON, as --format jsonl does"},
			formatFlag()),
		Action: rejectsAction,
	}
}

func rejectsAction(c *cli.Context) error {
	if c.Bool("json") && !c.IsSet("format") {
		if err := c.Set("format", string(query.JSONL)); err != nil {
			return err
		}
	}
	if err := checkAnswer(c); err != nil {
		return err
	}
	ids, of, err := rejectsScope(c)
	if err != nil {
		return err
	}
	var span query.Span
	if c.IsSet("from") || c.IsSet("to") {
		if span, err = rejectsSpan(c); err != nil {
			return err
		}
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	source := query.Source{Tables: s.Tables, Names: s.Names}
	if c.Args().Present() { // a wrong id has no rejects either
		if _, err := source.Device(c.Context, c.Args().First()); err != nil {
			return err
		}
	}
	var lost rejectTotals
	var example query.Record = query.Reject{}
	var records iter.Seq2[query.Record, error]
	if tenant := c.String("tenant"); tenant != "" {
		records = source.TenantRejects(c.Context, schema.Tenant(tenant), span, c.Int("limit"), lost.add)
	} else {
		records = source.Rejects(c.Context, ids, span, c.Int("limit"), lost.add)
	}
	if c.Bool("summary") {
		example, records = query.Reason{}, query.Reasons(records)
	}
	err = answer(c, example, records, func() string { return fmt.Sprintf("there are no rejects of %s", of) })
	lost.say(c.App.ErrWriter)
	return err
}

// rejectTotals are those of devices of which more was rejected than is kept.
type rejectTotals struct {
	first []query.RejectTotal
	sum   query.RejectTotal
	n     int
}

// mostTotals is how many devices are named; the others are summed up.
const mostTotals = 10

func (t *rejectTotals) add(r query.RejectTotal) {
	t.n++
	t.sum.Rejected += r.Rejected
	t.sum.Kept += r.Kept
	if len(t.first) < mostTotals {
		t.first = append(t.first, r)
	}
}

func (t *rejectTotals) say(w io.Writer) {
	for _, r := range t.first {
		fmt.Fprintf(w, "furrow: %s\n", r)
	}
	if t.n > len(t.first) {
		fmt.Fprintf(w, "furrow: in all, %d devices and pipelines have more rejects than are kept: %d rejected, the newest %d kept\n", t.n, t.sum.Rejected, t.sum.Kept)
	}
}

// rejectsScope is the devices that are meant, and what to call them.
func rejectsScope(c *cli.Context) (ids tables.Keys, of string, err error) {
	scopes := c.NArg()
	for _, name := range []string{"prefix", "tenant"} {
		if c.IsSet(name) {
			scopes++
		}
	}
	switch {
	case scopes > 1:
		return ids, "", usagef(c, "name one DEVICE, a --prefix of ids, or a --tenant, or none of them for all devices")
	case c.NArg() == 1:
		id, err := schema.ParseDeviceID(c.Args().First())
		if err != nil {
			return ids, "", usagef(c, "%v", err)
		}
		return tables.Is(string(id)), string(id), nil
	case c.IsSet("prefix"):
		ids, err := schema.IDsWithPrefix(c.String("prefix"))
		if err != nil {
			return ids, "", usagef(c, "--prefix: %v", err)
		}
		return ids, "devices " + c.String("prefix") + "…", nil
	case c.IsSet("tenant"):
		tenant, err := schema.ParseTenant(c.String("tenant"))
		if err != nil {
			return ids, "", usagef(c, "--tenant: %v", err)
		}
		return ids, "tenant " + string(tenant), nil
	}
	return ids, "any device", nil
}

// rejectsSpan has an open beginning and an open end.
func rejectsSpan(c *cli.Context) (query.Span, error) {
	from, to := c.String("from"), c.String("to")
	if from == "" {
		from = tables.Ticks(0).String()
	}
	if to == "" {
		to = tables.MaxTicks.String()
	}
	span, err := query.ParseSpan(from, to, 0, time.Now())
	if err != nil {
		return span, usagef(c, "%v", err)
	}
	return span, nil
}
