package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func tokenCommand() *cli.Command {
	return &cli.Command{
		Name:      "token",
		Usage:     "Issue a device token manually, for firmware that cannot request one",
		ArgsUsage: "DEVICE",
		Description: "The device must be registered (furrow device add). The token allows adding rows to the device's own " +
			"partition\n" +
			"until it expires, or until a device of its cohort is revoked. It is recorded like any other token." +
			examples("token pump-7", "token pump-7 --life 30d --json"),
		Flags: append(storageFlags(), tableURLFlag(),
			withDefaultText("the enrollment's", durationFlagUpTo("life", 0, time.Minute, schema.MaxLife,
				"`DURATION` until it expires, such as 30d; at most 90d")),
			&cli.BoolFlag{Name: "shared", Usage: "Allow a life of more than a day although devices with short tokens share " +
				"the table: revoking one of them may end it"},
			&cli.BoolFlag{Name: "json", Usage: "Print the endpoint's response as a line of JSON"}),
		Action: issueToken,
	}
}

func issueToken(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef(c, "name one DEVICE")
	}
	device, err := schema.ParseDeviceID(c.Args().First())
	if err != nil {
		return usagef(c, "%v", err)
	}
	life := durationOf(c, "life")
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	n := s.enrollments(sas.SealingKey{})
	e, err := enrollmentOf(c, s, n, device)
	if err != nil {
		return err
	}
	if life > sas.LongLife && e.Life <= sas.LongLife && !c.Bool("shared") {
		return fmt.Errorf("enrollment %s has tokens for %v: revoking any device of the cohort would end this token too and "+
			"lock out firmware "+
			"that cannot request another; add an enrollment with a long --life, which gets its own table, or use --shared", e.ID, e.Life)
	}
	if life > 0 {
		if e, err = n.Change(c.Context, e.ID, func(e *schema.Enrollment) error {
			e.Admits = max(e.Admits,
				life+e.Backfill)
			return nil
		}); err != nil {
			return err
		}
		e.Life = life
	}
	issuer, err := s.issuer(c.String("table-url"), n, s.policies(slog.New(slog.NewTextHandler(c.App.ErrWriter, nil))))
	if err != nil {
		return err
	}
	a, err := issuer.Issue(c.Context, device, e)
	if err != nil {
		return fmt.Errorf("device %s: %w", device, err)
	}
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, a)
	}
	return printAnswer(c.App.Writer, a)
}

// enrollmentOf returns the enrollment of a registered device.
func enrollmentOf(c *cli.Context, s *stores, n *sas.Enrollments, device schema.DeviceID) (schema.Enrollment, error) {
	d, err := sas.NewRegistry(s.Tables, s.Names).Get(c.Context, device)
	if errors.Is(err, tables.ErrNotFound) {
		return schema.Enrollment{}, fmt.Errorf("device %s is not registered: register it with furrow device add %s", device,
			device)
	}
	if err != nil {
		return schema.Enrollment{}, err
	}
	e, err := n.Get(c.Context, d.Enrollment)
	if err == nil && e.Disabled {
		err = sas.ErrDisabled
	}
	if err != nil {
		err = fmt.Errorf("device %s: enrollment %s: %w", device, d.Enrollment, err)
	}
	return e, err
}

func printAnswer(w io.Writer, a sas.Answer) error {
	_, err := fmt.Fprintf(w, `Token for %s, until %s

  %s?%s

POST rows there as JSON, with PartitionKey %q and 19 digits of ticks as RowKey,
  from %s (%s)
  to   %s (%s)
Anyone with this token can write as the device: keep it like a password.
`, a.Device, a.Expires.Format(time.RFC3339), a.URL, a.SAS, a.PartitionKey,
		a.EarliestRowKey, a.EarliestRowKey.Time().Format(time.RFC3339), a.LatestRowKey, a.LatestRowKey.Time().Format(time.RFC3339))
	return err
}
