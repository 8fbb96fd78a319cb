package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/jobs/rules"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func incidentCommand() *cli.Command {
	return &cli.Command{
		Name:  "incident",
		Usage: "Show incidents: when a rule held for a device",
		Description: `The processor rules opens and closes incidents by the rules of the configuration: see furrow rule. The ID of an
incident is its rule, its device and when it opened first, as in hot~pump-7~20261120T081500Z.`,
		Subcommands: []*cli.Command{{
			Name:  "list",
			Usage: "List incidents that are open, or all, the newest first",
			Description: "Without --all, lists those that are open or acknowledged. With several tenants, one after " +
				"the other." + examples("incident list", "incident list --tenant contoso --severity critical",
				"incident list --all --device pump-7 --from -7d --json"),
			Flags: append(storageFlags(),
				boolFlag("all", "Closed incidents as well"),
				&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "Only those of `TENANT`"},
				&cli.StringFlag{Name: "device", DefaultText: "all", Usage: "Only those of `DEVICE`"},
				&cli.StringFlag{Name: "rule", DefaultText: "all", Usage: "Only those of `RULE`"},
				choiceFlag("severity", "all", textsOf(rules.Severities()),
					"Only those of `SEVERITY`: info, warning or critical"),
				&cli.StringFlag{Name: "from", DefaultText: "all", Usage: "Beginning of the span in which they opened " +
					"first, as `TIME`, as in furrow query"},
				&cli.StringFlag{Name: "to", DefaultText: "all", Usage: "End of the span as `TIME`"},
				limitFlag("Maximum `NUMBER` of incidents"),
				listFlags()[0], listFlags()[1]),
			Action: incidentList,
		}, {
			Name: "show",
			Usage: "Show what happened in an incident: openings and closings, notifications, and what people " +
				"wrote",
			Description: examples("incident show hot~pump-7~20261120T081500Z"),
			ArgsUsage:   "INCIDENT",
			Flags:       append(storageFlags(), jsonFlag()),
			Action:      incidentShow,
		}, {
			Name:  "ack",
			Usage: "Acknowledge an incident: somebody takes care of it",
			Description: "It stays open until its rule no longer holds." +
				examples("incident ack hot~pump-7~20261120T081500Z"),
			ArgsUsage: "INCIDENT [TEXT...]",
			Flags:     append(storageFlags(), jsonFlag()),
			Action:    func(c *cli.Context) error { return addNote(c, schema.Acknowledged) },
		}, {
			Name:        "note",
			Usage:       "Write a note beside an incident",
			Description: examples("incident note hot~pump-7~20261120T081500Z 'the fan was off'"),
			ArgsUsage:   "INCIDENT TEXT...",
			Flags:       append(storageFlags(), jsonFlag()),
			Action:      func(c *cli.Context) error { return addNote(c, schema.Noted) },
		}},
	}
}

func incidentList(c *cli.Context) error {
	s, err := incidentSelector(c)
	if err != nil {
		return err
	}
	storage, err := openStorage(c)
	if err != nil {
		return err
	}
	f := storage.reader()
	return answer(c, query.Mapped(f.Incidents().List(c.Context, s), incidentOf), func() (string, error) {
		if c.Bool("all") {
			return "no incident", knownTenant(c, f.Devices(), s.Tenant)
		}
		return "no open incident; --all shows closed ones", knownTenant(c, f.Devices(), s.Tenant)
	})
}

func incidentSelector(c *cli.Context) (s query.IncidentSelector, err error) {
	s = query.IncidentSelector{Severity: c.String("severity"), Limit: c.Int("limit")}
	if !c.Bool("all") {
		s.States = []string{query.IncidentOpen, query.IncidentAcknowledged}
	}
	var errs [4]error
	s.Tenant, errs[0] = parsed(c, "tenant", schema.ParseTenant)
	s.Device, errs[1] = parsed(c, "device", schema.ParseDeviceID)
	s.Rule, errs[2] = parsed(c, "rule", schema.ParseRule)
	s.Span, errs[3] = openSpan(c)
	return s, cmp.Or(errs[:]...)
}

func incidentOf(i query.Incident) answers.Incident { return answers.IncidentOf(&i) }

func incidentShow(c *cli.Context) error {
	_, i, err := namedIncident(c)
	if err != nil {
		return err
	}
	h := answers.HistoryOf(&i)
	return printLine(c, h, historyText(h))
}

// historyText formats what happened in an incident for people: one list, in which each kind is in the order of time.
func historyText(h answers.IncidentHistory) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(at time.Time, what, who, value, text string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", at.Format(time.DateTime), what, who, value, text)
	}
	fmt.Fprintln(w, "at\twhat\twho\tvalue\ttext")
	for _, t := range h.Transitions {
		line(t.At, t.What, "", t.Value, t.Text)
	}
	for _, d := range h.Told {
		line(d.At, d.What, "", "", deliveryText(d))
	}
	for _, n := range h.Notes {
		line(n.At, n.What, n.Who, "", n.Text)
	}
	_ = w.Flush() // writes to memory
	return b.String()
}

// deliveryText describes what became of a notification.
func deliveryText(d answers.IncidentTold) string {
	text := fmt.Sprintf("%s to %s", d.Outcome, d.Target)
	if d.Repeat > 0 {
		text += fmt.Sprintf(", repetition %d", d.Repeat)
	}
	if d.Attempts > 1 {
		text += fmt.Sprintf(", %d attempts", d.Attempts)
	}
	if d.Error != "" && d.Outcome != schema.Delivered {
		text += ": " + d.Error
	}
	return text
}

// namedIncident reads the incident that a command names first.
func namedIncident(c *cli.Context) (*stores, query.Incident, error) {
	id, err := argument(c, 0, schema.ParseIncidentID)
	if err != nil {
		return nil, query.Incident{}, err
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return nil, query.Incident{}, err
	}
	i, err := s.reader().Incidents().Named(c.Context, id)
	if errors.Is(err, query.ErrNoIncident) {
		err = fmt.Errorf("%w; 'furrow incident list --all' shows all", err)
	}
	return s, i, err
}

func addNote(c *cli.Context, what string) error {
	s, i, err := namedIncident(c)
	if err != nil {
		return err
	}
	n, err := s.acts().NoteIncident(c.Context, commandActor(), i, what, strings.Join(c.Args().Tail(), " "))
	if err != nil {
		return err
	}
	return printLine(c, answers.NoteOf(n), fmt.Sprintf("%s: %s by %s", i.ID, n.What, n.Who))
}
