package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
)

func enrollmentRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "End all tokens of an enrollment's devices",
		ArgsUsage: "ENROLLMENT",
		Description: "For a key that leaked, use furrow enrollment disable --revoke instead: otherwise devices get new " +
			"tokens at once.\n" +
			"Tokens of other enrollments in the same readings table can end too, and their devices request new ones." +
			examples("enrollment revoke line4"),
		Flags: append(storageFlags(), confirmRevocationFlag(),
			jsonFlag()),
		Action: enrollmentRevoke,
	}
}

func enrollmentRevoke(c *cli.Context) error {
	d, e, err := openForEnrollment(c)
	if err != nil {
		return err
	}
	return d.revokeAll(c, e)
}

func confirmRevocationFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Usage: "Confirm that all devices with a token that ends must request a new one"}
}

// revokedLine is how many devices have a token that a revocation ends, in JSON.
type revokedLine struct {
	Enrollment   schema.EnrollmentID `json:"enrollment"`
	Devices      int                 `json:"devices"`      // of the enrollment
	NeedNewToken int                 `json:"needNewToken"` // devices of other enrollments in the readings table
}

// revokeAll ends all tokens of an enrollment's devices.
func (d *deviceAdmin) revokeAll(c *cli.Context, e schema.Enrollment) error {
	if e.AtExpiry {
		return d.sayLastExpiry(c.Context, e)
	}
	line, cohorts, err := d.tokensToEnd(c.Context, e)
	if err != nil {
		return err
	}
	if line.Devices > 0 && !c.Bool("yes") {
		return usagef(c, "this ends the tokens of %s of enrollment %s, and of %s of other enrollments in its table; "+
			"they must request new ones: confirm with --yes",
			many(int64(line.Devices), "device"), e.ID, many(int64(line.NeedNewToken), "device"))
	}
	policies := d.policies()
	err = d.recorded(c.Context, schema.Act{What: "enrollment revoke", Tenant: e.Tenant, Detail: string(e.ID)},
		func(ctx context.Context) (string, error) {
			for _, table := range d.endingOrder(cohorts) {
				if err := policies.EndTokens(ctx, table, cohorts[table]); err != nil {
					return "", fmt.Errorf("enrollment %s: the tokens for table %s may not have ended; try again: %w", e.ID, table,
						err)
				}
			}
			return "the tokens of " + many(int64(line.Devices), "device") + " ended", nil
		})
	return printAct(c, err, line, fmt.Sprintf("The tokens of %s of %s ended, and those of %s of other "+
		"enrollments.", many(int64(line.Devices), "device"), e.ID, many(int64(line.NeedNewToken), "device")))
}

// sayLastExpiry says when the tokens of an enrollment end that no revocation ends.
func (d *deviceAdmin) sayLastExpiry(ctx context.Context, e schema.Enrollment) error {
	last := time.Time{}
	err := d.eachDevice(ctx, func(device schema.Device) error {
		if until := admin.LastExpiry(device); device.Enrollment == e.ID && until.After(last) {
			last = until
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case last.IsZero() && e.Disabled:
		return nil
	case e.Disabled:
		return fmt.Errorf("enrollment %s: its tokens end when they expire, the last one at %s, because it was added with "+
			"--revocation at-expiry; its devices get no others", e.ID, last.Format(time.RFC3339))
	}
	return fmt.Errorf("enrollment %s: its tokens end when they expire, because it was added with --revocation at-expiry: "+
		"run furrow enrollment disable %s, and the last one ends within %s", e.ID, e.ID, schema.Window(e.Life))
}

// endingOrder returns the tables whose tokens end. The table of commands is the last: an endpoint reads its policies
// first, so one that has read the new ones learns from the others that the enrollment may be disabled.
func (d *deviceAdmin) endingOrder(cohorts map[string][schema.Cohorts]bool) []string {
	order := slices.Sorted(maps.Keys(cohorts))
	if at := slices.Index(order, d.Names.Commands()); at >= 0 {
		order = append(slices.Delete(order, at, at+1), d.Names.Commands())
	}
	return order
}

// tokensToEnd returns the cohorts, by readings table, in which devices of an enrollment have a token
// whose policy is in force, and counts the devices with such a token. It reads all devices of the
// fleet twice, a thousand per request.
func (d *deviceAdmin) tokensToEnd(
	ctx context.Context, e schema.Enrollment,
) (line revokedLine, cohorts map[string][schema.Cohorts]bool, err error) {
	line.Enrollment, cohorts = e.ID, map[string][schema.Cohorts]bool{}
	if e.Disabled { // even without a token: endpoints heed a revocation at once
		cohorts[e.Readings] = [schema.Cohorts]bool{}
	}
	policies := map[string]schema.Policies{}
	told, _, err := d.reader().Devices().Policies(ctx, d.Names.Commands())
	if err != nil {
		return line, nil, err
	}
	err = d.eachDevice(ctx, func(device schema.Device) error {
		if device.Enrollment != e.ID {
			return nil
		}
		if last := len(device.Tokens) - 1; last >= 0 && told.Readings != "" && device.Tokens[last].Commands != "" &&
			!told.Ended(schema.Token{Policy: device.Tokens[last].Commands}) {
			ending := cohorts[told.Readings]
			ending[sas.Cohort(device.ID)] = true
			cohorts[told.Readings] = ending
		}
		table := strings.ToLower(device.Readings)
		if _, known := policies[table]; !known {
			if policies[table], _, err = d.reader().Devices().Policies(ctx, device.Readings); err != nil {
				return err
			}
		}
		if p := policies[table]; inForce(p, device) {
			ending := cohorts[p.Readings]
			ending[sas.Cohort(device.ID)] = true
			cohorts[p.Readings] = ending
		}
		return nil
	})
	if err != nil {
		return line, nil, err
	}
	now := tables.TicksOf(time.Now())
	err = d.eachDevice(ctx, func(device schema.Device) error {
		p := policies[strings.ToLower(device.Readings)]
		valid := slices.ContainsFunc(device.Tokens, func(t schema.Token) bool { return t.Expiry > now })
		switch {
		case !valid || !cohorts[p.Readings][sas.Cohort(device.ID)] || !inForce(p, device):
		case device.Enrollment == e.ID:
			line.Devices++
		case device.Status != schema.Revoked:
			line.NeedNewToken++
		}
		return nil
	})
	return line, cohorts, err
}

// inForce reports whether the policy of a device's last token is in force. Earlier tokens cannot
// have later policies.
func inForce(p schema.Policies, device schema.Device) bool {
	last := len(device.Tokens) - 1
	return last >= 0 && device.Tokens[last].Policy != "" && !p.Ended(device.Tokens[last])
}
