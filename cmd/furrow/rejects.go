package main

import (
	"fmt"
	"iter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/query"
	"furrow/tables"
)

func rejectsCommand() *cli.Command {
	return &cli.Command{
		Name:      "rejects",
		Usage:     "print the rows that could not be processed, and why",
		ArgsUsage: "[DEVICE]",
		Description: "Those of one DEVICE, of the devices that --prefix names, or of all devices; of each device the newest last.\n" +
			"A row is rejected as a whole, or some of its values are and the others are folded. A span leaves out\n" +
			"rows whose keys are no times.",
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "the devices whose ids begin with `PREFIX`"},
			&cli.StringFlag{Name: "from", DefaultText: "the beginning", Usage: "`TIME` from which on, as furrow query takes it"},
			&cli.StringFlag{Name: "to", DefaultText: "the end", Usage: "`TIME` before which"},
			&cli.BoolFlag{Name: "summary", Usage: "count them by reason"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "read no more than `NUMBER` of them"},
			formatFlag()),
		Action: rejectsAction,
	}
}

func rejectsAction(c *cli.Context) error {
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
	var example query.Record = query.Reject{}
	var records iter.Seq2[query.Record, error] = source.Rejects(c.Context, ids, span, c.Int("limit"))
	if c.Bool("summary") {
		example, records = query.Reason{}, query.Reasons(records)
	}
	return answer(c, example, records, func() string { return fmt.Sprintf("there are no rejects of %s", of) })
}

// rejectsScope is the devices that are meant, and what to call them.
func rejectsScope(c *cli.Context) (ids tables.Keys, of string, err error) {
	switch {
	case c.NArg() > 1 || c.NArg() == 1 && c.IsSet("prefix"):
		return ids, "", usagef(c, "name one DEVICE, or a --prefix of ids, or neither for all")
	case c.NArg() == 1:
		id, err := tables.ParseDeviceID(c.Args().First())
		if err != nil {
			return ids, "", usagef(c, "%v", err)
		}
		return tables.Is(string(id)), string(id), nil
	case c.IsSet("prefix"):
		ids, err := tables.IDsWithPrefix(c.String("prefix"))
		if err != nil {
			return ids, "", usagef(c, "--prefix: %v", err)
		}
		return ids, "devices " + c.String("prefix") + "…", nil
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
