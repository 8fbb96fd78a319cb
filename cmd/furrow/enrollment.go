package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func enrollmentCommand() *cli.Command {
	return &cli.Command{
		Name:  "enrollment",
		Usage: "Manage enrollments (groups of devices that share a key)",
		Description: `A device's key is derived from its enrollment's key, as in Azure's Device Provisioning Service, and not
stored. An enrollment's key is stored sealed by the master key.`,
		Subcommands: []*cli.Command{
			enrollmentAddCommand(),
			enrollmentListCommand(),
			enrollmentSetCommand(),
			enrollmentDisableCommand(),
			enrollmentEnableCommand(),
			enrollmentRevokeCommand(),
			enrollmentRotateCommand(),
			enrollmentKeyCommand(),
			enrollmentResealCommand(),
		},
	}
}

// A deviceAdmin manages devices and enrollments for a command.
type deviceAdmin struct {
	*stores
	Enrollments *sas.Enrollments
	Registry    sas.Registry
	c           *cli.Context
}

// openDeviceAdmin opens the storage that the flags name. Keys stay sealed: see unseal.
func openDeviceAdmin(c *cli.Context) (*deviceAdmin, error) {
	s, err := openFleetStorage(c)
	if err != nil {
		return nil, err
	}
	return newDeviceAdmin(c, s), nil
}

func newDeviceAdmin(c *cli.Context, s *stores) *deviceAdmin {
	d := &deviceAdmin{s, s.enrollments(), sas.NewRegistry(s.Tables, s.Names), c}
	d.Registry.Prefixes = d.Enrollments
	return d
}

// unseal sets the enrollments' master key and returns its source. See setup.OpenMaster.
func (d *deviceAdmin) unseal(create bool) (where string, err error) {
	d.Enrollments.SealingKey, where, err = setup.OpenMaster(d.c.String("master-key-file"), storageDirectory(d.c), create)
	return where, err
}

// enrollmentFlag selects an enrollment; without the flag, there is another choice.
func enrollmentFlag(otherwise string) cli.Flag {
	return &cli.StringFlag{Name: "enrollment", DefaultText: otherwise, Usage: "`ID` of the enrollment",
		Action: func(c *cli.Context, _ string) error {
			_, err := parsed(c, "enrollment", schema.ParseEnrollmentID)
			return err
		}}
}

// enrollment returns the enrollment with an ID, or without one the only one.
func (d *deviceAdmin) enrollment(ctx context.Context, id string) (schema.Enrollment, error) {
	if id != "" {
		return d.named(ctx, id)
	}
	all, err := d.Enrollments.All(ctx)
	switch {
	case err != nil:
		return schema.Enrollment{}, err
	case len(all) == 0:
		return schema.Enrollment{}, errors.New("no enrollment yet: create one with furrow enrollment add")
	case len(all) > 1:
		return schema.Enrollment{}, usagef(d.c, "select one of several enrollments with --enrollment: %s",
			strings.Join(enrollmentIDs(all), ", "))
	}
	return all[0], nil
}

// named returns an enrollment by ID. If there is none, the error suggests similar IDs.
func (d *deviceAdmin) named(ctx context.Context, text string) (schema.Enrollment, error) {
	id, err := schema.ParseEnrollmentID(text)
	if err != nil {
		return schema.Enrollment{}, usagef(d.c, "%v", err)
	}
	e, err := d.Enrollments.Get(ctx, id)
	if !errors.Is(err, sas.ErrNoEnrollment) {
		return e, err
	}
	all, errAll := d.Enrollments.All(ctx)
	if errAll != nil {
		return e, err
	}
	hint := "; create it with furrow enrollment add"
	if ids := enrollmentIDs(all); len(ids) > 0 {
		hint = didYouMean(text, ids, "") + " (existing: " + strings.Join(ids, ", ") + ")"
	}
	return e, fmt.Errorf("no enrollment %q%s", text, hint)
}

func enrollmentIDs(all []schema.Enrollment) (ids []string) {
	for _, e := range all {
		ids = append(ids, string(e.ID))
	}
	return ids
}

// openForDevices opens the fleet and gets the enrollment that --enrollment names, or the only one.
func openForDevices(c *cli.Context) (d *deviceAdmin, e schema.Enrollment, err error) {
	if d, err = openDeviceAdmin(c); err == nil {
		e, err = d.enrollment(c.Context, c.String("enrollment"))
	}
	return d, e, err
}

// openForEnrollment opens the fleet and gets the enrollment that the single argument names.
func openForEnrollment(c *cli.Context) (d *deviceAdmin, e schema.Enrollment, err error) {
	if _, err = argument(c, 0, schema.ParseEnrollmentID); err != nil {
		return nil, e, err
	}
	if d, err = openDeviceAdmin(c); err == nil {
		e, err = d.named(c.Context, c.Args().First())
	}
	return d, e, err
}

// enrollmentLine is an enrollment in JSON.
type enrollmentLine struct {
	Enrollment schema.EnrollmentID `json:"enrollment" column:"enrollment"`
	Tenant     schema.Tenant       `json:"tenant" column:"tenant"`
	Prefix     string              `json:"prefix,omitempty" column:"prefix"`
	Readings   string              `json:"readings" column:"readings"`
	Lives      string              `json:"-" column:"life"`
	Fills      string              `json:"-" column:"backfill"`
	Life       int64               `json:"lifeSeconds"`
	Backfill   int64               `json:"backfillSeconds"`
	Admits     int64               `json:"admitsSeconds"`
	Site       schema.Site         `json:"site,omitempty"`
	Labels     map[string]string   `json:"labels,omitempty"`
	// at each endpoint; absent: no limit of its own
	Rate int `json:"tokensPerMinute,omitempty" column:"tokens_per_minute"`
	// that may register themselves; absent: no limit
	MaxDevices int `json:"maxDevices,omitempty" column:"max_devices"`
	// devices that did, if there is a limit; only enrollment list
	Registered *int    `json:"selfRegistered,omitempty" column:"self_registered"`
	ImportOnly bool    `json:"importOnly"`
	Disabled   bool    `json:"disabled" column:"disabled"`
	Shards     int     `json:"shards"`
	SendEvery  int64   `json:"sendEverySeconds"`
	Batch      int     `json:"batch"`
	Others     bool    `json:"writtenByOthers,omitempty"`       // somebody else writes rows of its devices
	Revocation string  `json:"revocation"`                      // at-once or at-expiry
	Commands   bool    `json:"commands"`                        // devices read commands
	PollPrice  float64 `json:"pollUSDPerDeviceMonth,omitempty"` // what that costs
}

func enrollmentLineOf(e schema.Enrollment) enrollmentLine {
	l := enrollmentLine{Enrollment: e.ID, Tenant: e.Tenant, Readings: e.Readings,
		Life: int64(e.Life.Seconds()), Backfill: int64(e.Backfill.Seconds()), Admits: int64(e.Admits.Seconds()),
		Site: e.Site, Labels: e.Labels, Prefix: e.Prefix, MaxDevices: e.MaxDevices, Rate: e.Rate, ImportOnly: e.ImportOnly,
		Disabled: e.Disabled, Shards: max(1, e.Shards),
		SendEvery: int64(e.SendEvery.Seconds()), Batch: e.Batch, Revocation: revocationAtOnce,
		Others: e.Others, Commands: e.Commands}
	l.Lives, l.Fills = lengthText(l.Life), lengthText(l.Backfill)
	if e.AtExpiry {
		l.Revocation = revocationAtExpiry
	}
	if e.Commands {
		l.PollPrice = pollPrice()
	}
	return l
}

// text formats an enrollment for people.
func (l enrollmentLine) text() string {
	state := "enabled"
	if l.Disabled {
		state = "disabled: its devices get no tokens"
	}
	first := "devices register themselves when they first request a token"
	if l.ImportOnly {
		first = "devices must be imported or added first"
	}
	if l.MaxDevices > 0 {
		first += fmt.Sprintf(", at most %d of them", l.MaxDevices)
	}
	if l.Registered != nil {
		first += fmt.Sprintf(" (%d so far)", *l.Registered)
	}
	if l.Prefix != "" {
		first += "; new IDs begin with " + l.Prefix
	}
	tokens := fmt.Sprintf("live for %s, and admit rows up to %s older", lengthText(l.Life), lengthText(l.Backfill))
	if l.Rate > 0 {
		tokens += fmt.Sprintf("; at most %d a minute at each endpoint", l.Rate)
	}
	if l.Revocation == revocationAtExpiry {
		tokens += "; a revocation ends none before it expires"
	}
	fields := [][2]string{
		{"tokens", tokens},
		{"readings", "table " + l.Readings},
		{"devices", first},
		{"advice", fmt.Sprintf("send every %s, at most %d rows at a time", lengthText(l.SendEvery), l.Batch)},
	}
	if l.Others {
		fields = append(fields, [2]string{"rows", "somebody else writes them, too: every run looks at all devices"})
	}
	if l.Commands {
		fields = append(fields, [2]string{"commands", fmt.Sprintf("each device reads its own every %s: about %.0f "+
			"operations a month, for $%.4f on Azure", short(sas.PollEvery), pollsPerMonth(), l.PollPrice)})
	}
	return fmt.Sprintf("%s, of tenant %s: %s\n", l.Enrollment, l.Tenant, state) + fieldLines(10, fields)
}

func enrollmentListCommand() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "List enrollments",
		Description: examples("enrollment list", "enrollment list --json"),
		Flags:       append(storageFlags(), listFlags()...),
		Action:      enrollmentList,
	}
}

func enrollmentList(c *cli.Context) error {
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	all, failed := d.Enrollments.All(c.Context)
	var lines []enrollmentLine
	for _, e := range all {
		line := enrollmentLineOf(e)
		if e.MaxDevices > 0 {
			n, err := d.Registry.Places.SelfRegistered(c.Context, e.ID)
			if err != nil {
				return err
			}
			line.Registered = &n
		}
		lines = append(lines, line)
	}
	return answer(c, query.Records(lines, failed), func() (string, error) {
		return "no enrollment yet: create one with furrow enrollment add", nil
	})
}

// checkReadings returns why devices cannot write to a table. A token for a table of the fleet itself would let
// a device change its records.
func checkReadings(n schema.Names, table string) error {
	own := func(name string) bool { return strings.EqualFold(name, table) && name != n.Readings() }
	if slices.ContainsFunc(processors.Tables(n), own) ||
		strings.HasPrefix(strings.ToLower(table), strings.ToLower(n.Partitions(""))) {
		return fmt.Errorf("table %s holds records of the fleet; devices must not write there", table)
	}
	return tables.CheckTable(table)
}
