package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/estimate"
	"furrow/tables/schema"
)

func estimateCommand() *cli.Command {
	return &cli.Command{
		Name:  "estimate",
		Usage: "Estimate what a fleet would store and cost on Azure",
		Description: `Folds a day of made-up readings with the processors of the configuration, and prints rows, partitions, shards,
messages, workers, operations and dollars a month, for the fleet and for a device, and which limits of storage
come close. It needs no storage. Operations agree with what the engine was counted to do within 5 %; polling,
the time that storage takes and prices of other regions differ from case to case. Devices that send at another
interval than a minute are taken to state it, and to keep it: runs look only at those whose next reading has come
(see furrow help limits). --fresh adds what would make the fleet cheaper, that which saves most first.` + examples(
			"estimate --devices 1000 --every 1m --sensors 6",
			"estimate --devices 50000 --every 5m --tenants 40 --months 24 --config furrow.yaml",
			"estimate --devices 50000 --every 5m --fresh 10m"),
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "devices", Usage: "`NUMBER` of devices"},
			durationFlagUpTo("every", time.Minute, 100*time.Millisecond, 366*24*time.Hour,
				"`TIME` between two readings of a device"),
			&cli.IntFlag{Name: "at-once", Value: 1, Usage: "`NUMBER` of readings that a device sends in one transaction"},
			durationFlagUpTo("life", defaultLife, time.Minute, schema.MaxLife, "`TIME` for which a token is valid"),
			withDefaultText("no advice", durationFlag("fresh", 0, time.Second,
				"`TIME` after which a reading should be among the live values")),
			&cli.IntFlag{Name: "sensors", Value: 6, Usage: "`NUMBER` of numbers in a reading"},
			&cli.IntFlag{Name: "tenants", Value: 1, Usage: "`NUMBER` of tenants among which devices are divided"},
			&cli.IntFlag{Name: "months", Value: 1, Usage: "`NUMBER` of months in which devices were deployed: the devices of " +
				"one month share transactions"},
			configFlag(), jsonFlag()},
		Action: showEstimate,
	}
}

func showEstimate(c *cli.Context) error {
	if !c.IsSet("devices") {
		return usagef(c, "--devices is required: how many devices the fleet has")
	}
	devices := c.Int("devices")
	if err := cmp.Or(between(c, 1, 100_000_000, "devices"), between(c, 1, 1000, "sensors"), between(c, 1, 100, "at-once"),
		between(c, 1, min(100_000, devices), "tenants"), between(c, 1, min(1200, devices), "months")); err != nil {
		return err
	}
	file, err := configFile(c)
	if err != nil {
		return err
	}
	configured, err := file.Config()
	if err != nil {
		return err
	}
	fleet := estimate.Fleet{Devices: devices, Every: durationOf(c, "every"), AtOnce: c.Int("at-once"),
		Token: durationOf(c, "life"), Sensors: c.Int("sensors"), Tenants: c.Int("tenants"), Months: c.Int("months")}
	e, err := estimate.Of(fleet, configured)
	if err == nil && c.IsSet("fresh") {
		e.Advice, err = estimate.Advise(fleet, configured, durationOf(c, "fresh"))
	}
	if err != nil {
		return err
	}
	return printLine(c, e, estimateText(e))
}

// estimateText formats an estimate for people.
func estimateText(e estimate.Estimate) string {
	var b strings.Builder
	var pipelines []string
	for _, p := range e.Pipelines {
		pipelines = append(pipelines, fmt.Sprintf("%s every %s: %s and %.0f operations of tables a run", p.Pipeline,
			lengthText(int64(p.CadenceSeconds)), many(int64(p.Messages), "message"), sumOf(p.Operations, "tables ")))
	}
	shards := ""
	if e.Shards > 1 {
		shards = fmt.Sprintf(" (enrollments need --shards %d)", e.Shards)
	}
	b.WriteString(fieldLines(12, [][2]string{
		{"readings", grouped(int64(e.Rows)) + " a month"},
		{"partitions", fmt.Sprintf("%d of the fleet%s", e.Partitions, shards)},
		{"pipelines", strings.Join(pipelines, "; ")},
		{"workers", fmt.Sprintf("%d with the default --jobs, if a batch takes two seconds", e.Workers)},
		{"storage", fmt.Sprintf("%.2f GB more each month: readings and outputs", e.StoredGB)},
		{"without", strings.Join(e.Without, ", ")},
	}))
	c := e.Cost
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\toperations a month\t$ a month\t\n")
	byCost := func(a, b string) int { return cmp.Or(cmp.Compare(c.ByKind[b], c.ByKind[a]), cmp.Compare(a, b)) }
	for _, kind := range slices.SortedFunc(maps.Keys(e.Operations), byCost) {
		fmt.Fprintf(w, "%s\t%s\t%.2f\t\n", kind, grouped(int64(e.Operations[kind])), c.ByKind[kind])
	}
	fmt.Fprintf(w, "writes of devices\t%s\t%.2f\t\ntokens\t\t%.2f\t\na month's storage\t\t%.2f\t\ntotal\t\t%.2f\t\n"+
		"for a device\t\t%.4f\t\n", grouped(int64(e.Rows)/int64(e.AtOnce)), c.Writes, c.Tokens, c.Storage, c.Total,
		c.PerDevice)
	_ = w.Flush() // writes to memory
	for _, a := range e.Advice {
		fmt.Fprintf(&b, "$%s with %s.\n", dollars(a.Total), a.Change)
	}
	for _, l := range e.Limits {
		if l.Close {
			fmt.Fprintf(&b, "Close to a limit: %.0f of %.0f %s a second; %s.\n", l.Used, l.Limit, l.What, l.ToDo)
		}
	}
	fmt.Fprintf(&b, "Prices: %s.\n\n"+
		"Others who take the same readings in, and do no more, charge (here: $%s of writes and tokens):\n",
		c.Prices, dollars(c.Writes+c.Tokens))
	for _, o := range e.Elsewhere {
		fmt.Fprintf(&b, "  %s, %s: $%s\n    %s\n", o.Service, o.Of, dollars(o.Total), o.Prices)
	}
	return b.String()
}

// dollars formats dollars a month: with cents below 100.
func dollars(usd float64) string {
	if usd < 100 {
		return fmt.Sprintf("%.2f", usd)
	}
	return grouped(int64(math.Round(usd)))
}

func sumOf(operations map[string]float64, prefix string) (sum float64) {
	for kind, n := range operations {
		if strings.HasPrefix(kind, prefix) {
			sum += n
		}
	}
	return sum
}
