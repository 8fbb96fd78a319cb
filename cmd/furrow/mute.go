package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func muteCommand() *cli.Command {
	return &cli.Command{
		Name:  "mute",
		Usage: "Mute incidents for a while: they are recorded, and nobody is notified",
		Description: "Incidents that a mute matches open and close as ever, and are shown as muted. A mute ends by itself." +
			examples("mute add --rule silent --site plant-3 --until 2h --text 'new routers'"),
		Subcommands: []*cli.Command{{
			Name:  "add",
			Usage: "Mute the incidents that match all that is given",
			Description: examples("mute add --device 'pump-*' --until 8h",
				"mute add --rule hot --label class=Fryer --until 30m"),
			Flags: append(storageFlags(),
				&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "`TENANT` of the devices"},
				&cli.StringFlag{Name: "rule", DefaultText: "all", Usage: "`RULE` of the incidents"},
				&cli.StringFlag{Name: "site", DefaultText: "all", Usage: "`SITE` of the devices"},
				&cli.StringFlag{Name: "device", DefaultText: "all", Usage: "`DEVICE`, or the beginning of IDs and *"},
				&cli.StringSliceFlag{Name: "label", Usage: "`NAME=TEXT` that the devices have; may be repeated"},
				&cli.StringFlag{Name: "until", Usage: "`DURATION` from now, such as 2h or 7d; required"},
				&cli.StringFlag{Name: "text", Usage: "`TEXT` that says why"}, jsonFlag()),
			Action: muteAdd,
		}, {
			Name:        "list",
			Usage:       "List mutes that hold",
			Description: examples("mute list"),
			Flags: append(storageFlags(), &cli.StringFlag{Name: "tenant", DefaultText: "all",
				Usage: "Those of `TENANT`, and those for all tenants"}, listFlags()[0], listFlags()[1]),
			Action: muteList,
		}, {
			Name:        "remove",
			Usage:       "End a mute before its time",
			Description: examples("mute remove 7kq3mzx2ab"),
			ArgsUsage:   "MUTE",
			Flags:       append(storageFlags(), jsonFlag()),
			Action:      muteRemove,
		}},
	}
}

func muteAdd(c *cli.Context) error {
	length, err := schema.ParseDuration(c.String("until"))
	if err != nil || length <= 0 {
		return usagef(c, "--until %q; give a duration such as 2h or 7d", c.String("until"))
	}
	now := time.Now()
	m := schema.Mute{Site: schema.Site(c.String("site")), From: tables.TicksOf(now),
		Until: tables.TicksOf(now.Add(length)), Text: c.String("text")}
	var errs [4]error
	m.Tenant, errs[0] = parsed(c, "tenant", schema.ParseTenant)
	m.Rule, errs[1] = parsed(c, "rule", schema.ParseRule)
	m.Device, errs[2] = parsed(c, "device", parseMuted)
	if c.IsSet("label") {
		m.Labels, errs[3] = labelsOf(c)
	}
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if m.Matches() == "" {
		return usagef(c, "say which incidents: --tenant, --rule, --site, --device or --label")
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	if err := knownTenant(c, s.reader().Devices(), m.Tenant); err != nil {
		return err
	}
	if m.Device != "" && !strings.HasSuffix(m.Device, "*") {
		if err := mutable(c.Context, s.reader().Devices(), schema.DeviceID(m.Device), m.Tenant); err != nil {
			return err
		}
	}
	if m, err = s.acts().Mute(c.Context, commandActor(), m); err != nil {
		return err
	}
	return printLine(c, muteLineOf(m), fmt.Sprintf("mute %s: %s until %s", m.ID, m.Matches(),
		m.Until.Time().Format(time.RFC3339)))
}

// mutable returns an error for a device that is unknown or was removed, or that is of no such tenant; empty: of any.
func mutable(ctx context.Context, f query.Devices, id schema.DeviceID, t schema.Tenant) error {
	if err := knownDevice(ctx, f, id); err != nil || t == "" {
		return err
	}
	d, found, err := f.Record(ctx, id)
	if found && !slices.Contains(d.Tenants(), t) {
		return fmt.Errorf("device %s belongs to tenant %s: the mute would match nothing of tenant %s", id, d.Tenant, t)
	}
	return err
}

// parseMuted parses the ID of a device, or the beginning of IDs and *.
func parseMuted(text string) (string, error) {
	if prefix, is := strings.CutSuffix(text, "*"); is {
		_, err := schema.IDsWithPrefix(prefix)
		return text, err
	}
	_, err := schema.ParseDeviceID(text)
	return text, err
}

func muteList(c *cli.Context) error {
	tenant, err := parsed(c, "tenant", schema.ParseTenant)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	now := tables.TicksOf(time.Now())
	var lines []muteLine
	for m, err := range s.reader().Incidents().Mutes(c.Context, tenant) {
		if err != nil {
			return err
		}
		if m.Until > now {
			lines = append(lines, muteLineOf(m))
		}
	}
	return answer(c, query.Records(lines, nil), func() (string, error) { return "nothing is muted", nil })
}

// muteLine is a mute in JSON.
type muteLine struct {
	ID     string            `json:"id" column:"id"`
	Mutes  string            `json:"-" column:"mutes"` // in words
	Tenant schema.Tenant     `json:"tenant,omitempty"`
	Rule   schema.Rule       `json:"rule,omitempty"`
	Site   schema.Site       `json:"site,omitempty"`
	Device string            `json:"device,omitempty"` // or the beginning of IDs and *
	Labels map[string]string `json:"labels,omitempty"`
	From   time.Time         `json:"from"`
	Until  time.Time         `json:"until" column:"until"`
	Who    string            `json:"who" column:"by"`
	Text   string            `json:"text,omitempty" column:"text"`
}

func muteLineOf(m schema.Mute) muteLine {
	return muteLine{m.ID, m.Matches(), m.Tenant, m.Rule, m.Site, m.Device, m.Labels, m.From.Time(), m.Until.Time(), m.Who,
		m.Text}
}

func muteRemove(c *cli.Context) error {
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	var m schema.Mute
	err = s.recorded(c.Context, schema.Act{What: "mute remove", Detail: c.Args().First()},
		func(ctx context.Context) (_ string, err error) {
			m, err = s.reader().Incidents().RemoveMute(ctx, c.Args().First())
			return m.Matches(), err
		})
	if err != nil {
		return err
	}
	return printLine(c, muteLineOf(m), fmt.Sprintf("mute %s has ended", m.ID))
}
