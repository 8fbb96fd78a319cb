package main

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/jobs/rate"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func queryCommand() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "Print readings, rollups, rates or latest values",
		ArgsUsage: "[DEVICE]",
		Description: `Prints rollups, or with --raw readings, with --latest the newest values, or with --rate rates of change: of one
DEVICE, of the devices that --prefix selects, or of a --tenant. Times are UTC: 2026-11-20, 2026-11-20T08:00:00Z, or -2h for two hours ago. A
span includes its beginning and excludes its end. Rollups include every bucket that overlaps the span; the newest
buckets may still change.` + examples(
			"query pump-7",
			"query pump-7 --raw --last 90m",
			"query pump-7 --tail 3",
			"query --tenant contoso --latest",
			"query pump-7 --rate --latest",
			"query --prefix pump- --window 1d --from 2026-11-01 --format jsonl"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "Devices of `TENANT`"},
			boolFlag("raw", "Print readings as the devices sent them"),
			&cli.IntFlag{Name: "tail", DefaultText: "none", Usage: "Print the newest `NUMBER` of readings of a DEVICE, the " +
				"newest first"},
			boolFlag("latest", "Print the newest value of each sensor"),
			boolFlag("rate", "Print rates of change by 1h or 1d, or with --latest the newest"),
			&cli.StringFlag{Name: "window", DefaultText: "depends on the span",
				Usage: "`LENGTH` of rollup buckets, such as 1m, 1h or 1d"},
			&cli.StringFlag{Name: "from", Usage: "Beginning of the span as `TIME`"},
			&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "End of the span as `TIME`"},
			durationFlag("last", 24*time.Hour, 0, "`DURATION` of the span if --from is not given, such as 90m, 24h or 7d"),
			&cli.StringFlag{Name: "sensors", DefaultText: "all", Usage: "`NAMES` of sensors, separated by commas"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "Maximum `NUMBER` of readings, buckets or devices"},
			listFlags()[0], listFlags()[1]),
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
	f := s.reader()
	if q.Scope, err = queryScope(c, f); err != nil {
		return err
	}
	switch {
	case c.IsSet("tail"):
		return queryTail(c, s, q)
	case c.Bool("rate"):
		return queryRates(c, f, q)
	case c.Bool("raw"):
		return answer(c, printed(f.Readings(c.Context, q), readingRecordOf),
			func() (string, error) { return nothing(c, f, q, "readings") })
	case c.Bool("latest"):
		return answer(c, printed(f.Latest(c.Context, q), newestRecordOf),
			func() (string, error) { return neverFolded(c, f, q, "newest values", "latest") })
	}
	return queryRollups(c, f, q)
}

// reader reads the fleet in the storage account.
func (s *stores) reader() query.Fleet { return query.Fleet{Tables: s.Tables, Names: s.Names} }

// queryTail prints the newest readings of a device.
func queryTail(c *cli.Context, s *stores, q query.Question) error {
	readings, err := s.tail(c, q, c.Int("tail"))
	if err != nil {
		return err
	}
	return answer(c, printed(readings, readingRecordOf),
		func() (string, error) { return fmt.Sprintf("no readings of %s", q.Scope), nil })
}

// tail yields the newest readings of the one device of a question. Any pipeline knows about where they are.
func (s *stores) tail(c *cli.Context, q query.Question, n int) (iter.Seq2[query.Reading, error], error) {
	held, err := s.holding(c.Context, config.File{})
	if err != nil {
		return nil, err
	}
	q.Limit = n
	return s.reader().Tail(c.Context, held.Config.Pipelines[0].Name, q), nil
}

func queryRollups(c *cli.Context, f query.Fleet, q query.Question) (err error) {
	windows, err := f.Windows(c.Context, q.Scope)
	if err != nil {
		return err
	}
	if len(windows) == 0 {
		none := func(func(bucketRecord, error) bool) {}
		return answer(c, none, func() (string, error) { return neverFolded(c, f, q, "rollups", "rollup") })
	}
	if q.Window == 0 {
		q.Window = query.Choose(windows, q.Span.Length())
	}
	if !slices.Contains(windows, q.Window) {
		return fmt.Errorf("%s has no rollups of %s; it has rollups of %s", q.Scope, q.Window, textOf(windows))
	}
	return answer(c, printed(f.Rollups(c.Context, q), bucketRecordOf),
		func() (string, error) { return nothing(c, f, q, q.Window.String()+" rollups") })
}

func queryRates(c *cli.Context, f query.Fleet, q query.Question) error {
	windows := rate.Windows()
	if q.Window == 0 {
		q.Window = query.Choose(windows, q.Span.Length())
	}
	switch {
	case c.Bool("latest"):
		return answer(c, printed(f.NewestRates(c.Context, q), newestRatesRecordOf),
			func() (string, error) { return neverFolded(c, f, q, "newest rates", "rate") })
	case !slices.Contains(windows, q.Window):
		return fmt.Errorf("there are no rates of %s; there are rates of %s", q.Window, textOf(windows))
	}
	return answer(c, printed(f.Rates(c.Context, q), rateRecordOf),
		func() (string, error) { return nothing(c, f, q, q.Window.String()+" rates") })
}

func queryScope(c *cli.Context, f query.Fleet) (scope query.Scope, err error) {
	switch {
	case c.IsSet("tenant"):
		scope, err = f.Tenant(c.String("tenant"))
	case c.IsSet("prefix") && c.String("prefix") == "":
		return scope, usagef(c, "--prefix is empty")
	case c.IsSet("prefix"):
		scope, err = f.Prefix(c.Context, c.String("prefix"))
	default:
		scope, err = f.Device(c.Context, c.Args().First())
	}
	if _, wrong := errors.AsType[*query.NameError](err); wrong {
		return scope, usagef(c, "%v", err)
	}
	return scope, err
}

// neverFolded says that a processor has no outputs yet.
func neverFolded(c *cli.Context, f query.Fleet, q query.Question, what, processor string) (string, error) {
	if err := knownTenant(c, f, schema.Tenant(c.String("tenant"))); err != nil {
		return "", err
	}
	s := stores{Tables: f.Tables, Names: f.Names}
	return fmt.Sprintf("%s has no %s yet: a worker with the processor %s has to fold readings first%s", q.Scope,
		what, processor, s.nextRun(c.Context, processor)), nil
}

// knownTenant returns an error if no device belongs to a tenant. An empty tenant is none.
func knownTenant(c *cli.Context, f query.Fleet, tenant schema.Tenant) error {
	if tenant == "" {
		return nil
	}
	var others []string
	for other, err := range f.Tenants(c.Context) {
		if err != nil {
			return err
		}
		if other == tenant {
			return nil
		}
		others = append(others, string(other))
	}
	return fmt.Errorf("no device belongs to tenant %q%s", tenant, didYouMean(string(tenant), others, ""))
}

// nothing says that a span is empty, and when a device has its newest value.
func nothing(c *cli.Context, f query.Fleet, q query.Question, what string) (string, error) {
	text := fmt.Sprintf("%s has no %s %s", q.Scope, what, q.Span)
	if len(q.Sensors) > 0 {
		text += " for these sensors"
	}
	newest, err := f.NewestTime(c.Context, q.Scope)
	if err == nil && newest > 0 {
		text += "; its newest value is from " + newest.Time().Format(time.RFC3339)
	}
	return text, knownTenant(c, f, schema.Tenant(c.String("tenant")))
}
