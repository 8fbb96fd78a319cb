package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func tokenCommand() *cli.Command {
	return &cli.Command{
		Name:      "token",
		Usage:     "Issue a device token manually",
		ArgsUsage: "DEVICE|revoke",
		Description: `For firmware that cannot request a token. The device must be registered (furrow device add). The token allows
adding rows to the device's own partition until it expires, or until a device of its cohort is revoked. It is
recorded like any other token.` + examples("token pump-7", "token pump-7 --life 30d --json"),
		Flags: append(storageFlags(), tableURLFlag(),
			withDefaultText("the enrollment's", durationFlagUpTo("life", 0, time.Minute, schema.MaxLife,
				"`DURATION` until it expires, such as 30d; at most 90d")),
			jsonFlag()),
		Action:      issueToken,
		Subcommands: []*cli.Command{tokenRevokeCommand()},
	}
}

func issueToken(c *cli.Context) error {
	life := durationOf(c, "life")
	d, device, err := openForDevice(c)
	if err != nil {
		return err
	}
	e, err := d.enrollmentForToken(c.Context, device)
	if err != nil {
		return err
	}
	if life > sas.LongLife && e.Life <= sas.LongLife {
		return fmt.Errorf("enrollment %s has tokens for %v: revoking any device of the cohort would end this token too and "+
			"lock out firmware that cannot request another; add an enrollment with a long --life, which gets its own table",
			e.ID, e.Life)
	}
	if e.AtExpiry && life > schema.MaxLifeAtExpiry {
		return usagef(c, "--life: enrollment %s was added with --revocation at-expiry: no revocation ends its tokens, so "+
			"they may live for an hour at most", e.ID)
	}
	issuer, err := d.issuer(c.String("table-url"), d.Enrollments, d.policies())
	if err != nil {
		return err
	}
	var a sas.Answer
	act := schema.Act{What: "token", Device: device, Tenant: e.Tenant, Detail: given(c)}
	err = d.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
		if life > 0 {
			if e, err = d.admitLonger(ctx, e, life); err != nil {
				return "", err
			}
		}
		if a, err = issuer.Issue(ctx, device, e); err != nil {
			return "", fmt.Errorf("device %s: %w", device, err)
		}
		return "it expires at " + a.Expires.UTC().Format(time.RFC3339), nil
	})
	return printAct(c, err, a, answerText(a))
}

// admitLonger returns an enrollment with another life, after storing that audits must look back as far.
func (d *deviceAdmin) admitLonger(ctx context.Context, e schema.Enrollment, life time.Duration) (schema.Enrollment,
	error) {
	e, err := d.Enrollments.Change(ctx, e.ID, func(e *schema.Enrollment) error {
		e.Admits = max(e.Admits, life+e.Backfill)
		return nil
	})
	e.Life = life
	return e, err
}

// enrollmentForToken returns the enrollment of a registered device, which must be enabled.
func (d *deviceAdmin) enrollmentForToken(
	ctx context.Context, device schema.DeviceID,
) (e schema.Enrollment, err error) {
	known, err := d.Registry.Get(ctx, device)
	if errors.Is(err, tables.ErrNotFound) || err == nil && known.Status.Left() {
		return e, fmt.Errorf("device %s is not registered: register it with furrow device add %s", device, device)
	}
	if err != nil {
		return e, err
	}
	e, err = d.Enrollments.Get(ctx, known.Enrollment)
	if err == nil && e.Disabled {
		err = sas.ErrDisabled
	}
	if err != nil {
		err = fmt.Errorf("device %s: enrollment %s: %w", device, known.Enrollment, err)
	}
	return e, err
}

func answerText(a sas.Answer) string {
	return fmt.Sprintf(`Token for %s, until %s

  %s?%s

POST rows there as JSON, with PartitionKey %q and 19 digits of ticks as RowKey,
  from %s (%s)
  to   %s (%s)
Anyone with this token can write as the device: keep it like a password.
`, a.Device, a.Expires.Format(time.RFC3339), a.URL, a.SAS, a.PartitionKey,
		a.EarliestRowKey, a.EarliestRowKey.Time().Format(time.RFC3339), a.LatestRowKey,
		a.LatestRowKey.Time().Format(time.RFC3339))
}
