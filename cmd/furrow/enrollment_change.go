package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables/schema"
)

func enrollmentSetCommand() *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "change what an enrollment's tokens are good for",
		ArgsUsage: "ID",
		Description: "What is not given stays. Tokens that are out keep what they were issued with. Its tenant and its table\n" +
			"cannot change. Labels that are given replace all that it has.",
		Flags:  append(append(storageFlags(), policyFlags()...), &cli.BoolFlag{Name: "json", Usage: "print it as a line of JSON"}),
		Action: enrollmentSet,
	}
}

func enrollmentSet(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef(c, "name one enrollment")
	}
	return changeEnrollment(c, func(e *schema.Enrollment) error { return applyPolicy(c, e) })
}

// enrollmentSwitchCommand is disable, and enable.
func enrollmentSwitchCommand(name string, disabled bool) *cli.Command {
	usage := "give no more tokens to the devices of an enrollment"
	about := fmt.Sprintf("Endpoints go by it within %s. Tokens that are out work until they expire: furrow device revoke ends those of a device.", short(sas.Recent))
	if !disabled {
		usage, about = "give tokens to the devices of an enrollment again", ""
	}
	return &cli.Command{
		Name: name, Usage: usage, Description: about, ArgsUsage: "ID",
		Flags: append(storageFlags(), &cli.BoolFlag{Name: "json", Usage: "print it as a line of JSON"}),
		Action: func(c *cli.Context) error {
			return changeEnrollment(c, func(e *schema.Enrollment) error { e.Disabled = disabled; return nil })
		},
	}
}

// changeEnrollment changes the enrollment that is named, and prints it.
func changeEnrollment(c *cli.Context, change func(*schema.Enrollment) error) error {
	if _, err := enrollmentArgument(c); err != nil {
		return err
	}
	d, err := openDesk(c)
	if err != nil {
		return err
	}
	e, err := d.named(c, c.Args().First())
	if err != nil {
		return err
	}
	if e, err = d.Enrollments.Change(c.Context, e.ID, change); err != nil {
		return err
	}
	return printEnrollment(c, e)
}

func enrollmentRotateCommand() *cli.Command {
	return &cli.Command{
		Name:      "rotate",
		Usage:     "give an enrollment a new primary key",
		ArgsUsage: "ID",
		Description: "The old primary key becomes the secondary one: devices with keys derived from it go on. The old secondary key\n" +
			"ends, and devices with keys derived from that get no more tokens.",
		Flags: append(append(storageFlags(), masterFlags()...),
			&cli.BoolFlag{Name: "yes", Usage: "do it: there is no way back"},
			&cli.BoolFlag{Name: "json", Usage: "print the enrollment as a line of JSON"}),
		Action: enrollmentRotate,
	}
}

func enrollmentRotate(c *cli.Context) error {
	if _, err := enrollmentArgument(c); err != nil {
		return err
	}
	if !c.Bool("yes") {
		return usagef(c, "the secondary key of %s ends, and devices with keys derived from it get no more tokens; those of the primary key go on, with that as the secondary: --yes does it", c.Args().First())
	}
	d, err := openDesk(c)
	if err != nil {
		return err
	}
	if _, err := d.unseal(c, false); err != nil {
		return err
	}
	e, err := d.named(c, c.Args().First())
	if err != nil {
		return err
	}
	if e, err = d.Enrollments.Rotate(c.Context, e.ID); err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, enrollmentLineOf(e))
	}
	fmt.Fprintf(c.App.Writer, "%s has a new primary key, which furrow enrollment key %s --show-key prints for the factory.\n"+
		"The old one is the secondary now: its devices go on. Endpoints go by it within %s.\n", e.ID, e.ID, short(sas.Recent))
	return nil
}

func enrollmentKeyCommand() *cli.Command {
	return &cli.Command{
		Name:        "key",
		Usage:       "print an enrollment's key, for the factory that derives those of devices from it",
		ArgsUsage:   "ID",
		Description: "It is a secret: whoever has it can speak for every device of the enrollment. It belongs into no device.",
		Flags: append(append(storageFlags(), masterFlags()...),
			&cli.BoolFlag{Name: "show-key", Usage: "print it"},
			&cli.BoolFlag{Name: "secondary", Usage: "the secondary key instead of the primary"},
			&cli.BoolFlag{Name: "json", Usage: "print it as a line of JSON"}),
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
	if _, err := enrollmentArgument(c); err != nil {
		return err
	}
	if !c.Bool("show-key") {
		return usagef(c, "whoever has the key can speak for every device of the enrollment: --show-key prints it")
	}
	d, err := openDesk(c)
	if err != nil {
		return err
	}
	e, err := d.named(c, c.Args().First())
	if err != nil {
		return err
	}
	key, rank, err := d.key(c, e)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, keyLine{Enrollment: e.ID, Rank: rank, Key: key.Base64()})
	}
	fmt.Fprintf(c.App.ErrWriter, "This is the %s key of enrollment %s. It is a secret: whoever has it can speak for every device of it.\n", rank, e.ID)
	_, err = fmt.Fprintln(c.App.Writer, key.Base64())
	return err
}

// key is the key of an enrollment that --secondary says.
func (d *desk) key(c *cli.Context, e schema.Enrollment) (sas.Key, sas.Rank, error) {
	if _, err := d.unseal(c, false); err != nil {
		return nil, "", err
	}
	keys, err := d.Enrollments.Keys(e)
	switch {
	case err != nil:
		return nil, "", err
	case !c.Bool("secondary"):
		return keys[0], sas.Primary, nil
	case len(keys) < 2:
		return nil, "", fmt.Errorf("enrollment %s has no secondary key", e.ID)
	}
	return keys[1], sas.Secondary, nil
}
