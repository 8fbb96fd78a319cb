package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/tables/schema"
	"furrow/worker/cost"
	"furrow/worker/price"
	"furrow/worker/query"
)

func costCommand() *cli.Command {
	return &cli.Command{
		Name:  "cost",
		Usage: "Show what each tenant costs on Azure in a month",
		Description: `Prints for each tenant the devices, the readings stored and their bytes, its share of the operations of jobs,
and dollars, the most expensive first, and the sum for the fleet. Readings and bytes are exact, and come from
reports by tenant. Operations are counted for the whole fleet and divided by devices (furrow help limits).` +
			examples("cost", "cost --month 2026-10 --json", "cost --tenant contoso --days"),
		Flags: append(storageFlags(), configFlag(),
			&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "Only `TENANT`"},
			&cli.StringFlag{Name: "month", DefaultText: "this month", Usage: "`MONTH`, such as 2026-11"},
			boolFlag("days", "Print each day"), jsonFlag()),
		Action: showCost,
	}
}

func showCost(c *cli.Context) error {
	q, err := costQuestion(c, time.Now())
	if err != nil {
		return err
	}
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	if q.Window, err = costWindow(f); err != nil {
		return err
	}
	for _, p := range f.Pipelines {
		q.Pipelines = append(q.Pipelines, p.Name)
	}
	var skipped query.Skipped
	costs, err := f.Reader().Reports().Costs(c.Context, q, &skipped)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(costs.Tenants, costsSomething) {
		if err := knownTenant(c, f.Reader().Devices(), q.Tenant); err != nil {
			return err
		}
	}
	return cmp.Or(printLine(c, costs, costsText(costs)), unreadable(c, skipped))
}

func costsSomething(t cost.TenantCost) bool { return t.Devices > 0 || t.Readings > 0 }

// costQuestion reads the flags.
func costQuestion(c *cli.Context, now time.Time) (q query.CostQuestion, err error) {
	if q.Tenant, err = parsed(c, "tenant", schema.ParseTenant); err != nil {
		return q, err
	}
	month := now.UTC()
	if text := c.String("month"); text != "" {
		if month, err = time.Parse("2006-01", text); err != nil {
			return q, usagef(c, "--month is %q; want a month such as 2026-11", text)
		}
	}
	q.ByDay = c.Bool("days")
	q.From, q.To = query.MonthDays(month, now)
	return q, nil
}

// costWindow returns the longest window of reports by tenant.
func costWindow(f *roles.Fleet) (w schema.Window, err error) {
	for _, p := range f.Pipelines {
		if all := p.Reported(); len(all) > 0 && slices.Contains(p.Reports.By, schema.ByTenant) {
			w = max(w, slices.Max(all))
		}
	}
	if w == 0 {
		return 0, fmt.Errorf("readings and bytes of tenants are counted by reports, and none are configured by tenant: " +
			"add reports: {windows: [1h, 1d], by: [tenant]} to the configuration")
	}
	return w, nil
}

// costsText formats costs for people.
func costsText(costs cost.Costs) string {
	var b strings.Builder
	counted := "no run of this time is counted yet"
	if costs.Through != nil {
		counted = "runs are counted until " + costs.Through.Format(time.DateTime)
	}
	fmt.Fprintf(&b, "%s to %s UTC; %s\n\n", costs.From, costs.To, counted)
	lines := costs.Tenants
	if costs.Fleet != nil {
		fleet := *costs.Fleet
		fleet.Tenant = "all"
		lines = append(slices.Clone(lines), fleet)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tenant\tday\tdevices\twriting\treadings\tMB\ttables\tqueues\tobjects\t$ inserts\t$ work\t$ storage\t"+
		"$ total")
	for _, l := range lines {
		n := l.Services()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\t", l.Tenant, l.Day, grouped(l.Devices), grouped(l.Writing),
			grouped(l.Readings), float64(l.Bytes)/(price.GB>>10))
		for _, service := range []string{"tables", "queues", "objects"} {
			fmt.Fprintf(w, "%s\t", grouped(int64(math.Round(n[service]))))
		}
		fmt.Fprintf(w, "%.4f\t%.4f\t%.4f\t%.4f\n", l.USD.Inserts, l.USD.Work, l.USD.Storage, l.USD.Total)
	}
	_ = w.Flush() // writes to memory
	fmt.Fprintf(&b, "\nPrices: %s.\n", costs.Prices)
	return b.String()
}
