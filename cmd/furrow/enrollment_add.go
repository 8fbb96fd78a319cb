package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Usage:     "Add an enrollment and create the tables that its devices need",
		ArgsUsage: "ID",
		Description: `An enrollment has a primary and a secondary key, which are generated unless given. If its tokens live for
more than a day, it gets its own readings table: revoking a device locks out others of the table until they
request a new token. With --revocation at-expiry, tokens live for an hour at most, and revoking a device affects no
other one, but ends no token before it expires. Without the account's key, there are no other tokens: a user
delegation key of the endpoint's Entra identity signs them.` + examples(
			"enrollment add line4 --tenant contoso",
			"enrollment add line4 --tenant contoso --life 6h --backfill 30d --import-only"),
		Flags: append(append(append(storageFlags(), masterFlags()...),
			&cli.StringFlag{Name: "tenant", Usage: "`TENANT` that owns the devices, unless an import names another"},
			&cli.StringFlag{Name: "readings", DefaultText: "the fleet's, or its own for a life of more than a day",
				Usage: "`TABLE` for the devices' readings"},
			choiceFlag("revocation", revocationAtOnce, []string{revocationAtOnce, revocationAtExpiry},
				"`WHEN` a revocation ends tokens: at-once, by stored access policies, or at-expiry, within an hour; it "+
					"cannot be changed later")),
			append(policyFlags(),
				&cli.StringFlag{Name: "primary-key", Usage: "`FILE` with a primary key in base64, for example from a factory; - " +
					"for the standard input"},
				&cli.StringFlag{Name: "secondary-key", Usage: "`FILE` with a secondary key; - for the standard input"},
				jsonFlag())...),
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
	d, err := openDeviceAdmin(c)
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
	where, err := d.unseal(len(others) == 0)
	if err != nil {
		return err
	}
	err = d.recorded(c.Context, schema.Act{What: "enrollment add", Tenant: e.Tenant, Detail: string(e.ID)},
		func(ctx context.Context) (_ string, err error) {
			if err := d.makeTables(ctx, e); err != nil {
				return "", err
			}
			e, err = d.Enrollments.Add(ctx, e, primary, secondary)
			return "", err
		})
	if errors.Is(err, tables.ErrExists) {
		return fmt.Errorf("%w; change it with furrow enrollment set", err)
	}
	line := enrollmentLineOf(e)
	return printAct(c, err, line, line.text()+afterAdd(e, where))
}

// newEnrollment reads the flags of a new enrollment. Without --readings it has no table yet.
func newEnrollment(c *cli.Context) (e schema.Enrollment, err error) {
	if e.ID, err = argument(c, 0, schema.ParseEnrollmentID); err != nil {
		return e, err
	}
	if !c.IsSet("tenant") {
		return e, usagef(c, "--tenant is required: the tenant that owns the devices")
	}
	if e.Tenant, err = parsed(c, "tenant", schema.ParseTenant); err != nil {
		return e, err
	}
	e.AtExpiry = c.String("revocation") == revocationAtExpiry
	e.Life, e.Backfill, e.SendEvery, e.Batch = defaultLife, defaultBackfill, defaultSendEvery, defaultBatch
	e.Readings = "readings" // placeholder for the check
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

// givenKeys reads the given keys; a key that is not given is nil.
func givenKeys(c *cli.Context) (primary, secondary sas.Key, err error) {
	if c.String("primary-key") == "-" && c.String("secondary-key") == "-" {
		return nil, nil, usagef(c, "only one of --primary-key and --secondary-key can be read from the standard input")
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

// givenKey reads a key from a file. Its errors do not quote the file's name, because a user may
// have given the key itself by mistake.
func givenKey(c *cli.Context, file string) (sas.Key, error) {
	in, err := openInput(c, file)
	if err != nil {
		return nil, errors.New("no such file, or it cannot be read; give a file or - for the standard input, never the " +
			"key itself")
	}
	defer in.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(in, 1<<10))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	return sas.ParseKey(strings.TrimSpace(string(text)))
}

// makeTables creates the tables that an enrollment needs.
func (d *deviceAdmin) makeTables(ctx context.Context, e schema.Enrollment) error {
	for _, name := range append(processors.Tables(d.Names), e.Readings) {
		if err := d.Tables.Table(name).Create(ctx); err != nil {
			return err
		}
	}
	if d.Account.Key == "" || e.AtExpiry {
		return nil // setting policies needs the account's key; the endpoint will do it
	}
	// Otherwise the first device would have to wait until the policies are in force.
	policies := d.policies()
	if e.Commands {
		if err := policies.Ensure(ctx, d.Names.Commands()); err != nil {
			return err
		}
	}
	return policies.Ensure(ctx, e.Readings)
}

// afterAdd describes where the keys are and the next steps.
func afterAdd(e schema.Enrollment, where string) string {
	return fieldLines(10, [][2]string{{"keys", "sealed in storage by the master key in " + where +
		": keep a copy of it, or no device can authenticate"}}) + fmt.Sprintf("Next:\n"+
		"  furrow device add DEVICE --enrollment %[1]s    prints a script that sends a first reading\n"+
		"  furrow device import FILE --enrollment %[1]s   registers the devices of a file\n"+
		"  furrow enrollment key %[1]s --show-key         prints the key for a factory\n", e.ID)
}
