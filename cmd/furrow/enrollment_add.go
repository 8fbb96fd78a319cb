package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/jobs/processors"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func enrollmentAddCommand() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "make an enrollment, and the tables that its devices need",
		ArgsUsage: "ID",
		Description: "It has a primary and a secondary key, which are made here unless they are given. With tokens that live for\n" +
			"more than a day an enrollment has a readings table to itself: revoking a device there locks others out\n" +
			"until they ask for a token again.",
		Flags: append(append(append(storageFlags(), masterFlags()...),
			&cli.StringFlag{Name: "tenant", Usage: "`TENANT` whose its devices are, where an import does not say otherwise"},
			&cli.StringFlag{Name: "readings", DefaultText: "the fleet's; of its own for a life of more than a day", Usage: "`TABLE` that its devices write to"}),
			append(policyFlags(),
				&cli.StringFlag{Name: "primary-key", Usage: "`FILE` with the primary key in base64, where a factory has made it; - for the standard input"},
				&cli.StringFlag{Name: "secondary-key", Usage: "`FILE` with the secondary key; - for the standard input"},
				&cli.BoolFlag{Name: "json", Usage: "print it as a line of JSON"})...),
		Action: enrollmentAdd,
	}
}

func enrollmentAdd(c *cli.Context) error {
	e, err := newEnrollment(c)
	if err != nil {
		return err
	}
	primary, secondary, err := givenKeys(c)
	if err != nil {
		return err
	}
	d, err := openDesk(c)
	if err != nil {
		return err
	}
	if e.Readings == "" {
		e.Readings = d.Names.Readings()
		if e.Life > sas.LongLife {
			e.Readings += string(e.ID)
		}
	}
	if err := checkReadings(d.Names, e.Readings); err != nil {
		return usagef(c, "--readings: %v", err)
	}
	others, err := d.Enrollments.All(c.Context)
	if err != nil {
		return err
	}
	where, err := d.unseal(c, len(others) == 0)
	if err != nil {
		return err
	}
	if err := d.makeTables(c, e.Readings); err != nil {
		return err
	}
	e, err = d.Enrollments.Add(c.Context, e, primary, secondary)
	if errors.Is(err, tables.ErrExists) {
		return fmt.Errorf("%w; furrow enrollment set changes it", err)
	}
	if err != nil {
		return err
	}
	if err := printEnrollment(c, e); err != nil || c.Bool("json") {
		return err
	}
	_, err = fmt.Fprint(c.App.Writer, afterAdd(e, where))
	return err
}

// newEnrollment is what the flags say of one; without --readings, it has none yet.
func newEnrollment(c *cli.Context) (e schema.Enrollment, err error) {
	if e.ID, err = enrollmentArgument(c); err != nil {
		return e, err
	}
	if !c.IsSet("tenant") {
		return e, usagef(c, "say with --tenant whose its devices are")
	}
	if e.Tenant, err = schema.ParseTenant(c.String("tenant")); err != nil {
		return e, usagef(c, "--tenant: %v", err)
	}
	e.Life, e.Backfill, e.SendEvery, e.Batch = defaultLife, defaultBackfill, defaultSendEvery, defaultBatch
	e.Readings = "readings" // whatever it will be, the check of the rest wants one
	if c.IsSet("readings") {
		e.Readings = c.String("readings")
	}
	if err := applyPolicy(c, &e); err != nil {
		return e, err
	}
	if !c.IsSet("readings") {
		e.Readings = ""
	}
	return e, nil
}

// givenKeys are the keys that a factory has made, or nil.
func givenKeys(c *cli.Context) (primary, secondary sas.Key, err error) {
	if c.String("primary-key") == "-" && c.String("secondary-key") == "-" {
		return nil, nil, usagef(c, "only one of --primary-key and --secondary-key can come from the standard input")
	}
	for name, to := range map[string]*sas.Key{"primary-key": &primary, "secondary-key": &secondary} {
		if !c.IsSet(name) {
			continue
		}
		if *to, err = givenKey(c, c.String(name)); err != nil {
			return nil, nil, usagef(c, "--%s: %v", name, err)
		}
	}
	return primary, secondary, nil
}

// givenKey reads a key. Its errors do not quote the name of the file, which is the
// key where someone has mistaken the flag.
func givenKey(c *cli.Context, file string) (sas.Key, error) {
	in := c.App.Reader
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, errors.New("there is no such file, or it cannot be read; it takes a file or - for the standard input, and never the key itself")
		}
		defer f.Close() // it was only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, 1<<10))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	return sas.ParseKey(strings.TrimSpace(string(text)))
}

// makeTables makes what devices of an enrollment need.
func (d *desk) makeTables(c *cli.Context, readings string) error {
	for _, name := range append(processors.Tables(d.Names), readings) {
		if err := d.Tables.Table(name).Create(c.Context); err != nil {
			return err
		}
	}
	if d.Account.Key == "" {
		return nil // only the key may set policies: an endpoint that has it will
	}
	return d.policies(slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))).Ensure(c.Context, readings) // or the first device would have to wait until they hold
}

// afterAdd says where the keys are, and what comes next.
func afterAdd(e schema.Enrollment, where string) string {
	return fmt.Sprintf("  keys      sealed in storage by the master key in %s: keep a copy of that, or no device can prove who it is\n"+
		"Next:\n"+
		"  furrow device add DEVICE --enrollment %s      makes one device known, and prints what it runs to send\n"+
		"  furrow device import FILE --enrollment %s     makes known what a factory has made\n"+
		"  furrow enrollment key %s --show-key           prints the key from which a factory derives those of devices\n", where, e.ID, e.ID, e.ID)
}
