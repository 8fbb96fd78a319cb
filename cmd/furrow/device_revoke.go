package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func deviceRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "Revoke devices: their tokens end, and they get no others",
		ArgsUsage: "DEVICE...",
		Description: `Ends the tokens of the device's whole cohort, a quarter of the devices that share its readings table; the others
request new ones. Readings that storage has accepted are still processed. Revoking again changes nothing.` + examples("device revoke pump-7", "device revoke pump-7 pump-8 --at-expiry"),
		Flags: append(storageFlags(),
			boolFlag("at-expiry", "Let the existing tokens expire: the device writes until then, and no "+
				"other device is affected"),
			boolFlag("yes", "Confirm that other devices are locked out until they request a new token"),
			jsonFlag()),
		Action: func(c *cli.Context) error { return changeStatus(c, schema.Revoked) },
	}
}

func deviceRestoreCommand() *cli.Command {
	return &cli.Command{
		Name:        "restore",
		Usage:       "Let revoked devices get tokens again",
		Description: examples("device restore pump-7"),
		ArgsUsage:   "DEVICE...",
		Flags:       append(storageFlags(), jsonFlag()),
		Action:      func(c *cli.Context) error { return changeStatus(c, schema.Active) },
	}
}

// changeStatus revokes or restores the named devices, which must all exist.
func changeStatus(c *cli.Context, to schema.Status) error {
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	devices, err := d.devices(c)
	if err != nil {
		return err
	}
	rotates := to == schema.Revoked && !c.Bool("at-expiry")
	if rotates && !c.Bool("yes") {
		if err := d.checkLockout(c, devices); err != nil {
			return err
		}
	}
	if err := d.change(c, devices, to); err != nil || !rotates {
		return err
	}
	n, err := d.others(c, devices, true)
	switch {
	case err != nil:
		return fmt.Errorf("the devices are revoked, but the others that need a new token cannot be counted: %w", err)
	case c.Bool("json"):
		return writeJSONLine(c.App.Writer, affectedLine{n})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s need a new token, and get it when they request it.\n",
		many(int64(n), "other device"))
	return err
}

// devices returns the records of the named devices.
func (d *deviceAdmin) devices(c *cli.Context) (devices []schema.Device, err error) {
	if c.NArg() == 0 {
		return nil, usagef(c, "name one device or more")
	}
	for _, text := range c.Args().Slice() {
		id, err := schema.ParseDeviceID(text)
		if err != nil {
			return nil, usagef(c, "%v", err)
		}
		device, err := d.device(c, id)
		if err != nil {
			return nil, err
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// statusLine is a device with its new status, in JSON.
type statusLine struct {
	Device   schema.DeviceID `json:"device"`
	Status   schema.Status   `json:"status"`
	Readings string          `json:"readings"`
	AtExpiry bool            `json:"atExpiry,omitempty"`
}

// affectedLine is how many other devices need a new token, in JSON.
type affectedLine struct {
	NeedNewToken int `json:"needNewToken"`
}

// concurrentChanges lets one rotation of a cohort serve several devices.
const concurrentChanges = 8

// change changes the status of devices and prints each, in order.
func (d *deviceAdmin) change(c *cli.Context, devices []schema.Device, to schema.Status) error {
	policies := d.policies(logFor(c))
	for len(devices) > 0 {
		n := min(concurrentChanges, len(devices))
		errs := make([]error, n)
		var all sync.WaitGroup
		for i, device := range devices[:n] {
			all.Go(func() {
				if to == schema.Active {
					errs[i] = policies.Restore(c.Context, device)
				} else {
					errs[i] = policies.Revoke(c.Context, device, c.Bool("at-expiry"))
				}
			})
		}
		all.Wait()
		for i, device := range devices[:n] {
			if errs[i] != nil {
				return errs[i]
			}
			if err := printStatus(c, device, to, policies.Delay); err != nil {
				return err
			}
		}
		devices = devices[n:]
	}
	return nil
}

func printStatus(c *cli.Context, device schema.Device, to schema.Status, delay time.Duration) error {
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, statusLine{Device: device.ID, Status: to, Readings: device.Readings,
			AtExpiry: to == schema.Revoked && c.Bool("at-expiry")})
	}
	told := "can get tokens again"
	switch {
	case to == schema.Active:
	case c.Bool("at-expiry"):
		told = "is revoked: it gets no new token, and its last one expires" + lastExpiry(device)
	case delay > 0:
		told = "is revoked: it gets no new token, and its tokens stop working within " + short(delay)
	default:
		told = "is revoked: it gets no new token, and its tokens no longer work"
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s %s\n", device.ID, told)
	return err
}

// lastExpiry returns when the last valid token of a device expires, if any.
func lastExpiry(device schema.Device) string {
	var last tables.Ticks
	for _, t := range device.Tokens {
		last = max(last, t.Expiry)
	}
	if last.Time().Before(time.Now()) {
		return ""
	}
	return " at " + last.Time().Format(time.RFC3339)
}

// checkLockout refuses a revocation that locks out other devices for long: those with tokens
// for more than a day may not request another for weeks.
func (d *deviceAdmin) checkLockout(c *cli.Context, devices []schema.Device) error {
	for _, device := range devices {
		e, err := d.Enrollments.Get(c.Context, device.Enrollment)
		if errors.Is(err, sas.ErrNoEnrollment) || err == nil && e.Life <= sas.LongLife {
			continue
		}
		if err != nil {
			return err
		}
		n, err := d.others(c, devices, false)
		if err != nil {
			return err
		}
		return usagef(c, "the tokens of enrollment %s live for %s, and its devices may not request another before they "+
			"expire: revoking %s locks out %s until they do; confirm with --yes, or let the tokens expire with --at-expiry",
			e.ID, schema.Window(e.Life), device.ID, many(int64(n), "other device"))
	}
	return nil
}

// A cohort is the devices of a readings table whose tokens refer to the same policy.
type cohort struct {
	table  string
	number int
}

func cohortOf(d schema.Device) cohort {
	return cohort{strings.ToLower(d.Readings), sas.Cohort(d.ID)} // table names are case-insensitive
}

// others counts the other devices of the cohorts of the given devices: those with a token that a
// revocation would end or, after it, those whose token has ended. It reads all devices of the
// fleet, a thousand per request.
func (d *deviceAdmin) others(c *cli.Context, devices []schema.Device, ended bool) (n int, err error) {
	cohorts, given := map[cohort]schema.Policies{}, map[schema.DeviceID]bool{}
	for _, device := range devices {
		policies, _, err := d.reader().Policies(c.Context, device.Readings)
		if err != nil {
			return 0, err
		}
		cohorts[cohortOf(device)], given[device.ID] = policies, true
	}
	now := tables.TicksOf(time.Now())
	err = d.eachDevice(c, func(device schema.Device) error {
		policies, same := cohorts[cohortOf(device)]
		if last := len(device.Tokens) - 1; same && last >= 0 && !given[device.ID] && device.Status != schema.Revoked &&
			device.Tokens[last].Expiry > now && policies.Ended(device.Tokens[last]) == ended {
			n++
		}
		return nil
	})
	return n, err
}

// eachDevice calls visit for each device of the fleet, with its tokens. It reports records of newer
// programs and skips them.
func (d *deviceAdmin) eachDevice(c *cli.Context, visit func(schema.Device) error) error {
	wanted := tables.Query{Select: append(schema.DeviceSummary(), "Tokens")}
	for page, err := range d.Registry.Devices.Rows(c.Context, wanted) {
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			device, err := schema.DeviceOf(row)
			if errors.Is(err, schema.ErrNewer) {
				fmt.Fprintf(c.App.ErrWriter, "furrow: not counted: %v\n", err)
				continue
			}
			if err == nil {
				err = visit(device)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
