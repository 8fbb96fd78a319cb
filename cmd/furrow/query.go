package main

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func queryCommand() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "Print readings, rollups, rates, latest values, reports, or devices that stand out",
		ArgsUsage: "[DEVICE]",
		Description: `Prints rollups, or with --raw readings, with --latest the newest values, or with --rate rates of change: of one
DEVICE, of the devices that --prefix selects, or of a --tenant. --site, --label and --model select among those.
--by prints reports instead, if they are configured: of all devices of a tenant together, of each of its sites, or of
those with each value of a label; of all tenants without --tenant. A device is where it was when a bucket began.
--outliers prints the devices that stand out from their neighbours (furrow help outliers), of all tenants without
--tenant.
Times are UTC: 2026-11-20, 2026-11-20T08:00:00Z, or -2h for two hours ago. A span includes its beginning and excludes
its end. Rollups include every bucket that overlaps the span; the newest buckets may still change.

--where takes a condition on each record. Sensors have the names that --latest prints, also with --raw; labels.NAME is
a label of the device. With --latest a sensor is its newest value. In rollups it is its mean in the bucket, and
oil.min, oil.max, oil.first, oil.last, oil.sum and oil.count are the others. With --raw it is its value in the row, as
the model of the device names and converts it. What a record does not have is nil:

  oil > 190 and labels.class == "Fryer"
  oil.max > 190 or oil == nil
  state in ["open", "ajar"] and not (temperature < 4)` + examples(
			"query pump-7",
			"query pump-7 --raw --last 90m",
			"query pump-7 --raw --last 24h --where 'oil > 190'",
			"query pump-7 --tail 3",
			"query pump-7 --states --last 7d",
			"query --tenant contoso --gaps --last 7d",
			"query --tenant contoso --latest --where 'oil > 190'",
			"query --tenant contoso --site us-5260 --window 1h --where 'oil.max > 190'",
			"query --by tenant --window 1h",
			"query --by labels.class --tenant contoso --window 1d --last 30d",
			"query --outliers",
			"query --outliers --tenant contoso --by labels.class",
			"query pump-7 --rate --latest",
			"query --prefix pump- --window 1d --from 2026-11-01 --format jsonl"),
		Flags: append(accountsFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "Devices of `TENANT`"},
			&cli.StringFlag{Name: "site", Usage: "Only devices at `SITE`"},
			&cli.StringSliceFlag{Name: "label", Usage: "Only devices with the label `NAME=VALUE`; if repeated, with " +
				"all of them"},
			&cli.StringFlag{Name: "model", Usage: "Only devices of the configured `MODEL`"},
			&cli.StringFlag{Name: "where", Usage: "Only records for which `CONDITION` holds, such as 'oil > 190'"},
			boolFlag("raw", "Print readings as the devices sent them"),
			&cli.IntFlag{Name: "tail", DefaultText: "none", Usage: "Print the newest `NUMBER` of readings of a DEVICE, the " +
				"newest first"},
			&cli.StringFlag{Name: "row-key", Usage: "Print the reading of a DEVICE with the row key `KEY`"},
			boolFlag("states", "Print each state of sensors that are texts, or of --sensors: when it began and ended, how long "+
				"it lasted"),
			boolFlag("gaps", "Print by day how many readings were numbered, which numbers are missing, and restarts"),
			boolFlag("latest", "Print the newest value of each sensor"),
			boolFlag("rate", "Print rates of change by 1h or 1d, or with --latest the newest"),
			boolFlag("outliers", "Print the devices that stand out from those of their site, of a --tenant or of the whole "+
				"fleet; where a site is too small, by --by"),
			&cli.StringFlag{Name: "by", Usage: "Print reports of many devices together: by `GROUP` tenant, site or labels.NAME"},
			&cli.StringFlag{Name: "window", DefaultText: "depends on the span",
				Usage: "`LENGTH` of the buckets of rollups or reports, such as 1m, 1h or 1d"},
			&cli.StringFlag{Name: "from", Usage: "Beginning of the span as `TIME`"},
			&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "End of the span as `TIME`"},
			durationFlag("last", 24*time.Hour, 0, "`DURATION` of the span if --from is not given, such as 90m, 24h or 7d"),
			&cli.StringFlag{Name: "sensors", DefaultText: "all", Usage: "`NAMES` of sensors, separated by commas; with --raw " +
				"as devices send them or as models name them"},
			limitFlag("Maximum `NUMBER` of readings, buckets or devices"),
			listFlags()[0], listFlags()[1]),
		Action: queryAction,
	}
}

// A queryMode is what the command prints where a flag asks for it.
type queryMode struct {
	flag    string
	with    string // the mode after it that may be given with it
	without string // flags besides those of other modes that make no sense with it
	// print prints it. Where the mode asks for itself, it is without accounts and question.
	print func(c *cli.Context, a *accounts, all []asked, q query.Question) error
	asks  bool // for itself
}

// queryModes are all of them; of two that are given together, the first counts.
func queryModes() []queryMode {
	return []queryMode{
		{flag: "outliers", with: "by", without: "prefix where window from to last", asks: true,
			print: func(c *cli.Context, _ *accounts, _ []asked, _ query.Question) error { return queryOutliers(c) }},
		{flag: "by", without: "prefix where", asks: true,
			print: func(c *cli.Context, _ *accounts, _ []asked, _ query.Question) error { return queryReports(c) }},
		{flag: "row-key", with: "raw", without: "window from to last limit where", print: queryRow},
		{flag: "tail", with: "raw", without: "window from to last limit where", print: queryTail},
		{flag: "gaps", without: "window where sensors", print: queryGaps},
		{flag: "states", without: "window where", print: queryStates},
		{flag: "rate", with: "latest", without: "where", print: queryRates},
		{flag: "raw", without: "window", print: queryRaw},
		{flag: "latest", without: "window from to last", print: queryLatest},
	}
}

// given reports whether a mode is asked for.
func (m queryMode) given(c *cli.Context) bool {
	on, is := c.Value(m.flag).(bool)
	return c.IsSet(m.flag) && (on || !is)
}

func queryAction(c *cli.Context) error {
	if err := checkExclusions(c); err != nil {
		return err
	}
	mode := queryMode{print: queryRollups}
	for _, m := range slices.Backward(queryModes()) {
		if m.given(c) {
			mode = m
		}
	}
	if mode.asks {
		return mode.print(c, nil, nil, query.Question{})
	}
	q, err := queryQuestion(c)
	if err != nil {
		return err
	}
	a, err := accountsOf(c)
	if err != nil {
		return err
	}
	all, err := a.ask(q, func(f query.Devices) (query.Scope, error) { return queryScope(c, f) })
	if err != nil {
		return err
	}
	return mode.print(c, a, all, q)
}

func queryTail(c *cli.Context, a *accounts, all []asked, _ query.Question) error {
	return printEach(a, all, func(f asked) iter.Seq2[query.Reading, error] {
		f.question.Limit = c.Int("tail")
		return f.Rows().Tail(c.Context, f.config.Pipelines[0].Name, f.question)
	}, answers.ReadingAsSent, func(f asked) (string, error) {
		return fmt.Sprintf("no readings of %s", f.question.Scope), nil
	})
}

func queryStates(c *cli.Context, a *accounts, all []asked, q query.Question) error {
	return printEach(a, all, func(f asked) iter.Seq2[query.StateSpan, error] {
		return f.Rows().States(c.Context, f.question)
	}, stateOf(q.Span), func(f asked) (string, error) { return nothing(c, f, "states") })
}

func queryGaps(c *cli.Context, a *accounts, all []asked, _ query.Question) error {
	return printEach(a, all, func(f asked) iter.Seq2[query.GapDay, error] {
		return f.Rows().Gaps(c.Context, f.question)
	}, answers.GapDayOf, func(f asked) (string, error) { return nothing(c, f, "numbered readings") })
}

// queryLatest prints newest values, and when a device was last heard.
func queryLatest(c *cli.Context, a *accounts, all []asked, _ query.Question) error {
	now, heard := time.Now(), ""
	err := printEach(a, all, func(f asked) iter.Seq2[query.Newest, error] {
		return f.stating(c.Context, f.Outputs().Latest(c.Context, f.question), &now)
	}, func(n query.Newest) answers.NewestValues {
		v := answers.NewestOf(n, now)
		if heard = fmt.Sprintf("%s was last heard at %s", v.Device, v.Heard.Format(time.RFC3339)); !v.OverdueSince.IsZero() {
			heard += "; it is overdue since " + v.OverdueSince.Format(time.RFC3339)
		}
		return v
	}, func(f asked) (string, error) {
		if f.unheard(c.Context) {
			return fmt.Sprintf("%s is new: it has not sent a reading yet", f.question.Scope), nil
		}
		return neverFolded(c, f, "newest values", "latest", "readings")
	})
	if heard != "" && c.NArg() == 1 && !c.IsSet("sensors") && formatOf(c) == answers.Table {
		fmt.Fprintf(c.App.ErrWriter, "furrow: %s\n", heard)
	}
	return err
}

// queryRaw prints readings. A condition says how many rows it was tried on.
func queryRaw(c *cli.Context, a *accounts, all []asked, q query.Question) error {
	rows := new(atomic.Int64)
	err := printEach(a, all, func(f asked) iter.Seq2[query.Reading, error] {
		f.question.Rows = rows
		return f.Rows().Readings(c.Context, f.question)
	}, answers.ReadingAsSent, func(f asked) (string, error) { return nothing(c, f, "readings") })
	if q.Filter.Where != nil {
		fmt.Fprintf(c.App.ErrWriter, "furrow: %s read\n", many(rows.Load(), "row"))
	}
	return err
}

// queryRow prints one reading.
func queryRow(c *cli.Context, a *accounts, all []asked, _ query.Question) error {
	key := c.String("row-key")
	return printEach(a, all, func(f asked) iter.Seq2[query.Reading, error] {
		var one []query.Reading
		r, found, err := f.Rows().Reading(c.Context, f.question, key)
		if found {
			one = append(one, r)
		}
		return query.Records(one, err)
	}, answers.ReadingAsSent, func(f asked) (string, error) {
		return fmt.Sprintf("%s has no reading with the row key %s", f.question.Scope, key), nil
	})
}

// stateOf returns what makes states of a span. One that has not ended lasts until the end of the span, or until now.
func stateOf(span query.Span) func(query.StateSpan) answers.State {
	until := min(span.To, tables.TicksOf(time.Now()))
	return func(s query.StateSpan) answers.State { return answers.StateOf(s, until) }
}

// reader reads the fleet in the storage account.
func (s *stores) reader() query.Fleet { return query.Fleet{Tables: s.Tables, Names: s.Names} }

func queryRollups(c *cli.Context, a *accounts, all []asked, _ query.Question) (err error) {
	var windows []schema.Window
	for _, one := range all {
		own, err := one.Outputs().Windows(c.Context, one.question.Scope)
		if err := a.missing(one.number, err); err != nil {
			return err
		}
		windows = append(windows, own...)
	}
	slices.Sort(windows)
	windows = slices.Compact(windows)
	one := all[0].question
	if one.Window == 0 && len(windows) > 0 {
		one.Window = query.Choose(windows, one.Span.Length())
	}
	if len(windows) > 0 && !slices.Contains(windows, one.Window) {
		return fmt.Errorf("%s has no rollups of %s; it has rollups of %s", one.Scope, one.Window, textOf(windows))
	}
	return printEach(a, all, func(f asked) iter.Seq2[query.Bucket, error] {
		if len(windows) == 0 {
			return func(func(query.Bucket, error) bool) {}
		}
		f.question.Window = one.Window
		return f.Outputs().Rollups(c.Context, f.question)
	}, answers.WindowsOf, func(f asked) (string, error) {
		if len(windows) == 0 {
			return neverFolded(c, f, "rollups", "rollup", "readings")
		}
		return nothing(c, f, one.Window.String()+" rollups")
	})
}

func queryRates(c *cli.Context, a *accounts, all []asked, q query.Question) error {
	windows := rate.Windows()
	if q.Window == 0 {
		q.Window = query.Choose(windows, q.Span.Length())
	}
	switch {
	case c.Bool("latest"):
		return printEach(a, all, func(f asked) iter.Seq2[query.NewestRates, error] {
			return f.Outputs().NewestRates(c.Context, f.question)
		}, answers.NewestRatesOf, func(f asked) (string, error) {
			return neverFolded(c, f, "newest rates", "rate", "two readings of a number")
		})
	case !slices.Contains(windows, q.Window):
		return fmt.Errorf("there are no rates of %s; there are rates of %s", q.Window, textOf(windows))
	}
	return printEach(a, all, func(f asked) iter.Seq2[query.RateBucket, error] {
		f.question.Window = q.Window
		return f.Outputs().Rates(c.Context, f.question)
	}, answers.RatesOf, func(f asked) (string, error) {
		return nothing(c, f, q.Window.String()+" rates")
	})
}

// neverFolded says that a processor has no outputs yet, and what it makes the first one of.
func neverFolded(c *cli.Context, f asked, what, processor, of string) (string, error) {
	if err := knownTenant(c, f.Devices(), schema.Tenant(c.String("tenant"))); err != nil {
		return "", err
	}
	if text := selection(c); text != "" || len(f.question.Sensors) > 0 {
		unknown, err := unknownSensors(c, f)
		return fmt.Sprintf("%s has no %s %s%s", f.question.Scope, what, cmp.Or(text, "of these sensors"), unknown), err
	}
	return fmt.Sprintf("%s has no %s yet: a worker with the processor %s has to fold %s first%s", f.question.Scope,
		what, processor, of, f.stores.nextRun(c.Context, processor)), nil
}

// selection says which of the flags that leave out devices and records are given; empty: none is.
func selection(c *cli.Context) string {
	var flags []string
	for _, name := range []string{"site", "label", "model", "where"} {
		if c.IsSet(name) {
			flags = append(flags, "--"+name)
		}
	}
	if len(flags) == 0 {
		return ""
	}
	return "that " + strings.Join(flags, ", ") + " let through"
}

// mostNamed is how many sensors a note lists.
const mostNamed = 40

// unknownSensors says which of a question's sensors none of the first hundred devices has, and which they have; empty:
// they have all.
func unknownSensors(c *cli.Context, f asked) (string, error) {
	q := f.question
	asked := slices.Clone(q.Sensors)
	if q.Filter.Where != nil {
		asked = append(asked, q.Filter.Where.Sensors()...)
	}
	if len(asked) == 0 {
		return "", nil
	}
	var names []string
	few := f.Outputs().Latest(c.Context, query.Question{Scope: q.Scope, Limit: 100})
	for n, err := range query.Readable(few, new(query.Skipped)) {
		if err != nil {
			return "", err
		}
		for _, v := range n.Values {
			names = append(names, v.Sensor)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range asked {
		if len(names) == 0 || slices.Contains(names, name) {
			continue
		}
		text := fmt.Sprintf("; no newest value is of a sensor %q", name)
		if near := didYouMean(name, names, ""); near != "" {
			return text + near, nil
		}
		text += ": there are " + strings.Join(names[:min(len(names), mostNamed)], ", ")
		if more := len(names) - mostNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text, nil
	}
	return "", nil
}

// knownTenant returns an error if no device belongs to a tenant. An empty tenant is none.
func knownTenant(c *cli.Context, f query.Devices, tenant schema.Tenant) error {
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
func nothing(c *cli.Context, f asked, what string) (string, error) {
	q := f.question
	text := fmt.Sprintf("%s has no %s %s", q.Scope, what, q.Span)
	if len(q.Sensors) > 0 {
		text += " for these sensors"
	}
	chosen := selection(c)
	unknown, err := unknownSensors(c, f)
	if chosen != "" || unknown != "" || err != nil {
		text = strings.TrimSpace(text+" "+chosen) + unknown
		return text, cmp.Or(knownTenant(c, f.Devices(), schema.Tenant(c.String("tenant"))), err)
	}
	newest, err := f.Outputs().NewestTime(c.Context, q.Scope)
	if err == nil && newest > 0 {
		text += "; its newest value is from " + newest.Time().Format(time.RFC3339)
	}
	return text, knownTenant(c, f.Devices(), schema.Tenant(c.String("tenant")))
}
