package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func enrollmentCommand() *cli.Command {
	return &cli.Command{
		Name:  "enrollment",
		Usage: "groups of devices with one key, and what their tokens are good for",
		Description: "The keys of an enrollment's devices are derived from the enrollment's, as Azure's Device Provisioning Service\n" +
			"does it, and never stored. Its own are stored sealed by the master key.",
		Subcommands: []*cli.Command{
			enrollmentAddCommand(),
			enrollmentListCommand(),
			enrollmentSetCommand(),
			enrollmentSwitchCommand("disable", true),
			enrollmentSwitchCommand("enable", false),
			enrollmentRotateCommand(),
			enrollmentKeyCommand(),
		},
	}
}

// A desk is where devices and enrollments are kept.
type desk struct {
	*stores
	Enrollments *sas.Enrollments
	Registry    sas.Registry
}

// openDesk finds the storage that the flags name. Keys stay sealed: see unseal.
func openDesk(c *cli.Context, watchers ...watcher) (*desk, error) {
	s, err := openStorage(c, watchers...)
	if err != nil {
		return nil, err
	}
	return &desk{stores: s, Enrollments: s.enrollments(sas.SealingKey{}), Registry: sas.NewRegistry(s.Tables, s.Names)}, nil
}

// unseal gives the enrollments the master key, and says where it was. See openMaster.
func (d *desk) unseal(c *cli.Context, make bool) (where string, err error) {
	d.Enrollments.SealingKey, where, err = openMaster(c, make)
	return where, err
}

// enrollmentFlag chooses among enrollments.
func enrollmentFlag() cli.Flag {
	return &cli.StringFlag{Name: "enrollment", DefaultText: "the only one, where there is one", Usage: "`ID` of the enrollment"}
}

// enrollment is the one that --enrollment names, or the only one that there is.
func (d *desk) enrollment(c *cli.Context) (schema.Enrollment, error) {
	if c.IsSet("enrollment") {
		return d.named(c, c.String("enrollment"))
	}
	all, err := d.Enrollments.All(c.Context)
	switch {
	case err != nil:
		return schema.Enrollment{}, err
	case len(all) == 0:
		return schema.Enrollment{}, errors.New("there is no enrollment yet: furrow enrollment add makes one")
	case len(all) > 1:
		return schema.Enrollment{}, usagef(c, "there are several enrollments; say which with --enrollment: %s", strings.Join(enrollmentIDs(all), ", "))
	}
	return all[0], nil
}

// named is the enrollment of an id. Where there is none it says what is near.
func (d *desk) named(c *cli.Context, text string) (schema.Enrollment, error) {
	id, err := schema.ParseEnrollmentID(text)
	if err != nil {
		return schema.Enrollment{}, usagef(c, "%v", err)
	}
	e, err := d.Enrollments.Get(c.Context, id)
	if !errors.Is(err, sas.ErrNoEnrollment) {
		return e, err
	}
	all, errAll := d.Enrollments.All(c.Context)
	if errAll != nil {
		return e, err
	}
	hint := "; furrow enrollment add makes one"
	if ids := enrollmentIDs(all); len(ids) > 0 {
		hint = didYouMean(text, ids, "") + " (there are: " + strings.Join(ids, ", ") + ")"
	}
	return e, fmt.Errorf("there is no enrollment %q%s", text, hint)
}

func enrollmentIDs(all []schema.Enrollment) (ids []string) {
	for _, e := range all {
		ids = append(ids, string(e.ID))
	}
	return ids
}

// enrollmentArgument is the one argument of commands about an enrollment.
func enrollmentArgument(c *cli.Context) (schema.EnrollmentID, error) {
	if c.NArg() != 1 {
		return "", usagef(c, "name one enrollment")
	}
	id, err := schema.ParseEnrollmentID(c.Args().First())
	if err != nil {
		return "", usagef(c, "%v", err)
	}
	return id, nil
}

// enrollmentLine is an enrollment in JSON. Members may be added; none changes.
type enrollmentLine struct {
	Enrollment schema.EnrollmentID `json:"enrollment"`
	Tenant     schema.Tenant       `json:"tenant"`
	Readings   string              `json:"readings"`
	Life       int64               `json:"lifeSeconds"`
	Backfill   int64               `json:"backfillSeconds"`
	Admits     int64               `json:"admitsSeconds"`
	Site       schema.Site         `json:"site,omitempty"`
	Labels     map[string]string   `json:"labels,omitempty"`
	ImportOnly bool                `json:"importOnly"`
	Disabled   bool                `json:"disabled"`
	Shards     int                 `json:"shards"`
	SendEvery  int64               `json:"sendEverySeconds"`
	Batch      int                 `json:"batch"`
}

func enrollmentLineOf(e schema.Enrollment) enrollmentLine {
	return enrollmentLine{Enrollment: e.ID, Tenant: e.Tenant, Readings: e.Readings,
		Life: int64(e.Life.Seconds()), Backfill: int64(e.Backfill.Seconds()), Admits: int64(e.Admits.Seconds()),
		Site: e.Site, Labels: e.Labels, ImportOnly: e.ImportOnly, Disabled: e.Disabled, Shards: max(1, e.Shards),
		SendEvery: int64(e.SendEvery.Seconds()), Batch: e.Batch}
}

// text is an enrollment for people.
func (l enrollmentLine) text() string {
	state := "enabled"
	if l.Disabled {
		state = "disabled: no device gets a token"
	}
	first := "a device registers at its first contact"
	if l.ImportOnly {
		first = "a device must be imported or added first"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, of tenant %s: %s\n", l.Enrollment, l.Tenant, state)
	for _, line := range [][2]string{
		{"tokens", fmt.Sprintf("live for %s, and admit rows from %s before", lengthText(l.Life), lengthText(l.Backfill))},
		{"readings", "table " + l.Readings},
		{"devices", first},
		{"advice", fmt.Sprintf("send every %s, at most %d rows at once", lengthText(l.SendEvery), l.Batch)},
	} {
		fmt.Fprintf(&b, "  %-8s  %s\n", line[0], line[1])
	}
	return b.String()
}

func enrollmentListCommand() *cli.Command {
	return &cli.Command{
		Name:   "list",
		Usage:  "list the enrollments",
		Flags:  append(storageFlags(), &cli.BoolFlag{Name: "json", Usage: "print a line of JSON for each"}),
		Action: enrollmentList,
	}
}

func enrollmentList(c *cli.Context) error {
	d, err := openDesk(c)
	if err != nil {
		return err
	}
	all, err := d.Enrollments.All(c.Context)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(c.App.ErrWriter, "There is no enrollment yet: furrow enrollment add makes one.")
	}
	for _, e := range all {
		if err := printEnrollment(c, e); err != nil {
			return err
		}
	}
	return nil
}

func printEnrollment(c *cli.Context, e schema.Enrollment) error {
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, enrollmentLineOf(e))
	}
	_, err := fmt.Fprint(c.App.Writer, enrollmentLineOf(e).text())
	return err
}

// ownTables are the names that no readings table may have: a token for one of
// these would let a device write what the fleet goes by.
func ownTables(n schema.Names) []string {
	return slices.DeleteFunc(processors.Tables(n), func(name string) bool { return name == n.Readings() })
}

// checkReadings says why devices cannot write to a table.
func checkReadings(n schema.Names, table string) error {
	same := func(own string) bool { return strings.EqualFold(own, table) } // as storage sees them
	tracking := n.Partitions("")
	if slices.ContainsFunc(ownTables(n), same) || len(table) >= len(tracking) && strings.EqualFold(table[:len(tracking)], tracking) {
		return fmt.Errorf("table %s is one that the fleet keeps its own records in; devices must not write there", table)
	}
	return tables.CheckTable(table)
}
