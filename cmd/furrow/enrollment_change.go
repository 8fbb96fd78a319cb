package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables/schema"
)

func enrollmentSetCommand() *cli.Command {
	flags := policyFlags()
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.GenericFlag:
			f.DefaultText = "unchanged"
		case *cli.IntFlag:
			f.DefaultText = "unchanged"
		}
	}
	return &cli.Command{
		Name:      "set",
		Usage:     "Change the policy of an enrollment",
		ArgsUsage: "ENROLLMENT",
		Description: `Flags that are not given change nothing. Existing tokens are not affected. The tenant and the table cannot
be changed. Given labels replace all labels.` + examples("enrollment set line4 --life 6h --send-every 5m"),
		Flags:  append(append(storageFlags(), flags...), jsonFlag()),
		Action: enrollmentSet,
	}
}

func enrollmentSet(c *cli.Context) error {
	return changeEnrollment(c, "enrollment set", func(e *schema.Enrollment) error { return applyPolicy(c, e) })
}

func enrollmentEnableCommand() *cli.Command {
	return &cli.Command{
		Name: "enable", Usage: "Issue tokens to the devices of an enrollment again",
		Description: examples("enrollment enable line4"), ArgsUsage: "ENROLLMENT",
		Flags: append(storageFlags(), jsonFlag()),
		Action: func(c *cli.Context) error {
			return changeEnrollment(c, "enrollment enable",
				func(e *schema.Enrollment) error { e.Disabled = false; return nil })
		},
	}
}

func enrollmentDisableCommand() *cli.Command {
	return &cli.Command{
		Name: "disable", Usage: "Stop issuing tokens to the devices of an enrollment", ArgsUsage: "ENROLLMENT",
		Description: fmt.Sprintf("Takes effect within %s. Existing tokens work until they expire, unless --revoke ends them "+
			"all. furrow device\nrevoke ends those of a device.", short(sas.Recent)) +
			examples("enrollment disable line4", "enrollment disable line4 --revoke --yes"),
		Flags: append(storageFlags(),
			&cli.BoolFlag{Name: "revoke", Usage: "Wait until every endpoint knows, and end all tokens of its devices"},
			confirmRevocationFlag(),
			jsonFlag()),
		Action: enrollmentDisable,
	}
}

func enrollmentDisable(c *cli.Context) error {
	if c.Bool("revoke") && !c.Bool("yes") {
		return usagef(c, "--revoke ends tokens of other enrollments in the readings table too; furrow enrollment revoke %s "+
			"counts them. Confirm with --yes", c.Args().First())
	}
	err := changeEnrollment(c, "enrollment disable",
		func(e *schema.Enrollment) error { e.Disabled = true; return nil })
	if err != nil || !c.Bool("revoke") {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "Waiting %s until every endpoint knows.\n", short(sas.Recent))
	if !setup.Pause(c.Context, sas.Recent) {
		return fmt.Errorf("the enrollment is disabled, but its tokens have not ended: %w", context.Cause(c.Context))
	}
	return enrollmentRevoke(c)
}

// changeEnrollment changes the named enrollment and prints it.
func changeEnrollment(c *cli.Context, what string, change func(*schema.Enrollment) error) error {
	d, e, err := openForEnrollment(c)
	if err != nil {
		return err
	}
	err = d.recorded(c.Context, enrollmentAct(c, what, e), func(ctx context.Context) (_ string, err error) {
		if e.MaxDevices == 0 && c.Int("max-devices") > 0 {
			if err := d.Registry.Places.Forget(ctx, e.ID); err != nil {
				return "", err
			}
		}
		e, err = d.Enrollments.Change(ctx, e.ID, change)
		return "", err
	})
	line := enrollmentLineOf(e)
	return printAct(c, err, line, line.text())
}

// enrollmentAct describes a change of an enrollment for the activity log.
func enrollmentAct(c *cli.Context, what string, e schema.Enrollment) schema.Act {
	return schema.Act{What: what, Tenant: e.Tenant, Detail: strings.TrimSpace(string(e.ID) + " " + given(c))}
}

func enrollmentRotateCommand() *cli.Command {
	return &cli.Command{
		Name:      "rotate",
		Usage:     "Give an enrollment a new primary key",
		ArgsUsage: "ENROLLMENT",
		Description: `The old primary key becomes the secondary key, so devices with keys derived from it continue to work. The
old secondary key ends, and devices with keys derived from it get no more tokens.` + examples("enrollment rotate line4"),
		Flags: append(append(storageFlags(), masterFlags()...),
			boolFlag("yes", "Confirm; this cannot be undone"),
			jsonFlag()),
		Action: enrollmentRotate,
	}
}

func enrollmentRotate(c *cli.Context) error {
	if _, err := argument(c, 0, schema.ParseEnrollmentID); err != nil {
		return err
	}
	if !c.Bool("yes") {
		return usagef(c, "the secondary key of %s ends, and devices with keys derived from it get no more tokens; keys "+
			"derived from the primary key stay valid. Confirm with --yes", c.Args().First())
	}
	d, e, err := openForEnrollment(c)
	if err != nil {
		return err
	}
	if _, err := d.unseal(false); err != nil {
		return err
	}
	err = d.recorded(c.Context, enrollmentAct(c, "enrollment rotate", e), func(ctx context.Context) (_ string, err error) {
		e, err = d.Enrollments.Rotate(ctx, e.ID)
		return "", err
	})
	return printAct(c, err, enrollmentLineOf(e), fmt.Sprintf("%[1]s has a new primary key; furrow enrollment key "+
		"%[1]s --show-key prints it for the factory.\nThe old one is now the secondary key, and its devices continue to "+
		"work. Takes effect within %[2]s.", e.ID, short(sas.Recent)))
}

func enrollmentKeyCommand() *cli.Command {
	return &cli.Command{
		Name:        "key",
		Usage:       "Print an enrollment's key, from which a factory derives devices' keys",
		ArgsUsage:   "ENROLLMENT",
		Description: `The key is a secret: it allows impersonating every device of the enrollment. Never store it in a device.` + examples("enrollment key line4 --show-key"),
		Flags: append(append(storageFlags(), masterFlags()...),
			boolFlag("show-key", "Confirm that the key may be printed"),
			boolFlag("secondary", "Print the secondary key instead of the primary"),
			jsonFlag()),
		Action: enrollmentKey,
	}
}

// keyLine is a key in JSON.
type keyLine struct {
	Enrollment schema.EnrollmentID `json:"enrollment"`
	Device     schema.DeviceID     `json:"device,omitempty"`
	Rank       sas.Rank            `json:"rank"`
	Key        string              `json:"key"` // base64
}

func enrollmentKey(c *cli.Context) error {
	if _, err := argument(c, 0, schema.ParseEnrollmentID); err != nil {
		return err
	}
	if !c.Bool("show-key") {
		return usagef(c, "the key allows impersonating every device of the enrollment: confirm with --show-key")
	}
	d, e, err := openForEnrollment(c)
	if err != nil {
		return err
	}
	key, rank, err := d.key(e, c.Bool("secondary"))
	if err != nil {
		return err
	}
	return printSecret(c, keyLine{Enrollment: e.ID, Rank: rank, Key: key.Base64()}, key.Base64(),
		fmt.Sprintf("The %s key of enrollment %s. Keep it secret: it allows impersonating each of its devices.\n", rank,
			e.ID))
}

// key returns the primary or the secondary key of an enrollment.
func (d *deviceAdmin) key(e schema.Enrollment, secondary bool) (sas.Key, sas.Rank, error) {
	if _, err := d.unseal(false); err != nil {
		return nil, "", err
	}
	keys, err := d.Enrollments.Keys(e)
	switch {
	case err != nil:
		return nil, "", err
	case !secondary:
		return keys[0], sas.Primary, nil
	case len(keys) < 2:
		return nil, "", fmt.Errorf("enrollment %s has no secondary key", e.ID)
	}
	return keys[1], sas.Secondary, nil
}
