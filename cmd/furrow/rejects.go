package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func rejectsCommand() *cli.Command {
	return &cli.Command{
		Name:      "rejects",
		Usage:     "Show rejected rows and the reasons",
		ArgsUsage: "[DEVICE]",
		Description: fmt.Sprintf(`Shows rejects of one DEVICE, of the devices that --prefix selects, of a --tenant, or of all devices; the newest
of each device last. A row may be rejected as a whole, or only some of its values. Each pipeline keeps the newest
%d rejects of a device and counts all; if some are no longer kept, standard error says how many there were. When
rows are folded again, each counts once; of those no longer kept it may count fewer than there are. A span applies to
row keys.`, schema.RejectSlots) +
			examples("rejects pump-7", "rejects --tenant contoso --from -24h", "rejects --summary"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "Devices of `TENANT`"},
			&cli.StringFlag{Name: "from", DefaultText: "all", Usage: "Beginning of the span as `TIME`, as in furrow query"},
			&cli.StringFlag{Name: "to", DefaultText: "all", Usage: "End of the span as `TIME`"},
			boolFlag("summary", "Count rejects by reason, with sensors and values left out"),
			limitFlag("Maximum `NUMBER` of rejects"),
			listFlags()[0], listFlags()[1]),
		Action: rejectsAction,
	}
}

func rejectsAction(c *cli.Context) error {
	selector, of, err := rejectsScope(c)
	if err != nil {
		return err
	}
	span, err := openSpan(c)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	f := s.reader()
	if selector.Device != "" { // an unknown device has no rejects either
		if _, err := f.Devices().ScopeOfDevice(c.Context, string(selector.Device)); err != nil {
			return err
		}
	}
	var dropped rejectTotals
	rejects := f.Rows().Rejects(c.Context, selector, span, c.Int("limit"), dropped.add)
	empty := func() (string, error) { return "no rejects of " + of, knownTenant(c, f.Devices(), selector.Tenant) }
	if c.Bool("summary") {
		err = answer(c, query.Reasons(rejects), empty)
	} else {
		err = answer(c, query.Mapped(rejects, answers.RejectOf), empty)
	}
	dropped.print(c.App.ErrWriter)
	return err
}

// rejectTotals sums the devices that have more rejects than are kept.
type rejectTotals struct {
	first []query.RejectTotal
	sum   query.RejectTotal
	n     int
}

// mostTotals is the number of devices that are named; the others are only counted.
const mostTotals = 10

func (t *rejectTotals) add(r query.RejectTotal) {
	t.n++
	t.sum.Rejected += r.Rejected
	t.sum.Kept += r.Kept
	if len(t.first) < mostTotals {
		t.first = append(t.first, r)
	}
}

func (t *rejectTotals) print(w io.Writer) {
	for _, r := range t.first {
		fmt.Fprintf(w, "furrow: %s\n", r)
	}
	if t.n > len(t.first) {
		fmt.Fprintf(w, "furrow: %d devices and pipelines have more rejects than are kept: %d rejected, the newest %d kept\n",
			t.n, t.sum.Rejected, t.sum.Kept)
	}
}

// rejectsScope selects the devices, and names them in messages.
func rejectsScope(c *cli.Context) (s query.DeviceSelector, of string, err error) {
	s = query.DeviceSelector{Device: schema.DeviceID(c.Args().First()), Prefix: c.String("prefix"),
		Tenant: schema.Tenant(c.String("tenant"))}
	of = "any device"
	var errs [3]error
	n := 0
	if c.NArg() > 0 {
		n, of = 1, string(s.Device)
		_, errs[0] = schema.ParseDeviceID(of)
	}
	if c.IsSet("prefix") {
		n, of = n+1, "devices "+s.Prefix+"…"
		_, errs[1] = schema.IDsWithPrefix(s.Prefix)
	}
	if c.IsSet("tenant") {
		n, of = n+1, "tenant "+string(s.Tenant)
		_, errs[2] = schema.ParseTenant(string(s.Tenant))
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return s, of, usagef(c, "%v", err)
	}
	if n > 1 {
		return s, of, usagef(c, "name one DEVICE, a --prefix of IDs, or a --tenant, or none of them for all devices")
	}
	return s, of, nil
}

// openSpan reads --from and --to, which are open by default; without both, the span is zero.
func openSpan(c *cli.Context) (span query.Span, err error) {
	if !anySet(c, "from", "to") {
		return span, nil
	}
	from, to := c.String("from"), c.String("to")
	if from == "" {
		from = tables.Ticks(0).String()
	}
	if to == "" {
		to = tables.MaxTicks.String()
	}
	return spanOf(c, from, to, 0)
}
