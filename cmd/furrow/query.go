package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/query"
	"furrow/tables"
)

func queryCommand() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "print readings, rollups or newest values of devices",
		ArgsUsage: "[DEVICE]",
		Description: "It asks for rollups, unless --raw or --latest says otherwise, of one DEVICE, or of those that --prefix or\n" +
			"--tenant name. Times are UTC: 2026-11-20, 2026-11-20T08:00:00Z, or -2h for two hours ago. A span has its\n" +
			"beginning and not its end. Buckets of rollups are there that touch the span; the newest ones may still grow.",
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "the devices whose ids begin with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "the devices of `TENANT`"},
			&cli.BoolFlag{Name: "raw", Usage: "readings, as the devices wrote them"},
			&cli.BoolFlag{Name: "latest", Usage: "the newest value of each sensor"},
			&cli.StringFlag{Name: "window", DefaultText: "by the span", Usage: "`LENGTH` of the buckets of rollups, such as 1m, 1h or 1d"},
			&cli.StringFlag{Name: "from", Usage: "`TIME` from which on"},
			&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "`TIME` before which"},
			&cli.StringFlag{Name: "last", Value: "24h", Usage: "`LENGTH` of the span where --from is not given, such as 90m, 24h or 7d"},
			&cli.StringFlag{Name: "sensors", DefaultText: "all", Usage: "`NAMES` of sensors, separated by commas"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "print no more than `NUMBER` readings, buckets or devices"},
			formatFlag()),
		Action: queryAction,
	}
}

func queryAction(c *cli.Context) error {
	q, err := queryQuestion(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	source := query.Source{Tables: s.Tables, Names: s.Names}
	if q.Scope, err = queryScope(c, source); err != nil {
		return err
	}
	switch {
	case c.Bool("raw"):
		return answer(c, query.Reading{}, source.Readings(c.Context, q), func() string { return nothing(c, source, q, "readings") })
	case c.Bool("latest"):
		return answer(c, query.Newest{}, source.Latest(c.Context, q), func() string {
			return fmt.Sprintf("%s has no newest values: they are there when a worker with the processor latest has folded readings", q.Scope)
		})
	}
	windows, err := queryWindow(c, source, &q)
	if err != nil {
		return err
	}
	if len(windows) == 0 {
		return answer(c, query.Bucket{}, noRecords, func() string {
			return fmt.Sprintf("%s has no rollups: they are there when a worker with the processor rollup has folded readings; --raw asks for the readings themselves", q.Scope)
		})
	}
	return answer(c, query.Bucket{}, source.Rollups(c.Context, q), func() string { return nothing(c, source, q, q.Window.String()+" rollups") })
}

func noRecords(func(query.Record, error) bool) {}

// queryQuestion is what the flags ask, as far as they tell by themselves.
func queryQuestion(c *cli.Context) (q query.Question, err error) {
	if err := checkQuery(c); err != nil {
		return q, err
	}
	if q.Sensors = words(c.String("sensors")); c.IsSet("sensors") && len(q.Sensors) == 0 {
		return q, usagef(c, "--sensors names none")
	}
	if err := query.CheckSensors(q.Sensors); err != nil {
		return q, usagef(c, "--sensors: %v", err)
	}
	if text := c.String("window"); text != "" {
		if q.Window, err = tables.ParseWindow(text); err != nil {
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
		return usagef(c, "name one DEVICE, a --prefix of ids, or a --tenant")
	case c.Bool("raw") && c.Bool("latest"):
		return usagef(c, "--raw and --latest are two questions: ask one")
	case c.IsSet("window") && (c.Bool("raw") || c.Bool("latest")):
		return usagef(c, "--window is of rollups, which --raw and --latest do not ask for")
	case c.Bool("latest") && (c.IsSet("from") || c.IsSet("to") || c.IsSet("last")):
		return usagef(c, "--latest is the newest of all time: it takes no --from, --to or --last")
	case c.Bool("raw") && c.IsSet("tenant"):
		return usagef(c, "--raw: %v", query.ErrTenantReadings)
	}
	return checkAnswer(c)
}

// querySpan is the span that --from, --to and --last say.
func querySpan(c *cli.Context) (query.Span, error) {
	if c.IsSet("from") && c.IsSet("last") {
		return query.Span{}, usagef(c, "--from and --last both say where the span begins: give one")
	}
	last, err := query.ParseLength(c.String("last"))
	if err != nil {
		return query.Span{}, usagef(c, "--last: %v", err)
	}
	span, err := query.ParseSpan(c.String("from"), c.String("to"), last, time.Now())
	if err != nil {
		return span, usagef(c, "%v", err)
	}
	return span, nil
}

func queryScope(c *cli.Context, s query.Source) (scope query.Scope, err error) {
	switch {
	case c.IsSet("tenant"):
		scope, err = s.Tenant(c.String("tenant"))
	case c.IsSet("prefix") && c.String("prefix") == "":
		return scope, usagef(c, "--prefix is empty")
	case c.IsSet("prefix"):
		scope, err = s.Prefix(c.Context, c.String("prefix"))
	default:
		scope, err = s.Device(c.Context, c.Args().First())
	}
	if _, wrong := errors.AsType[*query.NameError](err); wrong {
		return scope, usagef(c, "%v", err)
	}
	return scope, err
}

// queryWindow chooses the window, and says which ones there are.
func queryWindow(c *cli.Context, s query.Source, q *query.Question) ([]tables.Window, error) {
	windows, err := s.Windows(c.Context, q.Scope)
	if err != nil || len(windows) == 0 {
		return nil, err
	}
	if q.Window == 0 {
		q.Window = query.Choose(windows, q.Span.Length())
	}
	for _, w := range windows {
		if w == q.Window {
			return windows, nil
		}
	}
	return nil, fmt.Errorf("%s has no rollups of %s; it has them of %s", q.Scope, q.Window, textOf(windows))
}

// nothing says that a span is empty, and of one device where it is not.
func nothing(c *cli.Context, s query.Source, q query.Question, what string) string {
	text := fmt.Sprintf("%s has no %s %s", q.Scope, what, q.Span)
	if len(q.Sensors) > 0 {
		text += " of these sensors"
	}
	newest, err := s.NewestTime(c.Context, q.Scope)
	if err == nil && newest > 0 {
		text += "; its newest value is of " + newest.Time().Format(time.RFC3339)
	}
	return text
}
