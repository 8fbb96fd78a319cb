package main

import (
	"fmt"
	"log/slog"
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
		Usage:     "take devices' right to write away, and to get tokens",
		ArgsUsage: "ID...",
		Description: "The tokens of a device's whole cohort end, a quarter of the devices of its readings table: the others ask once\n" +
			"for a new one. What storage has accepted is folded. It can be repeated.",
		Flags: append(storageFlags(),
			&cli.BoolFlag{Name: "at-expiry", Usage: "let the tokens that are out expire: no other device notices, and these write until then"},
			&cli.BoolFlag{Name: "yes", Usage: "do it although others are locked out until they ask for a token again"},
			&cli.BoolFlag{Name: "json", Usage: "print a line of JSON for each, and last how many others need a new token"}),
		Action: func(c *cli.Context) error { return changeStatus(c, schema.Revoked) },
	}
}

func deviceRestoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "let devices that were revoked have tokens again",
		ArgsUsage: "ID...",
		Flags:     append(storageFlags(), &cli.BoolFlag{Name: "json", Usage: "print a line of JSON for each"}),
		Action:    func(c *cli.Context) error { return changeStatus(c, schema.Active) },
	}
}

// changeStatus revokes or restores the devices that are named, all of which must exist.
func changeStatus(c *cli.Context, to schema.Status) error {
	d, err := openDesk(c)
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
	n, err := d.bereft(c, devices)
	switch {
	case err != nil:
		return fmt.Errorf("it is done, but the devices that need a new token cannot be counted: %w", err)
	case c.Bool("json"):
		return writeJSONLine(c.App.Writer, bereftLine{n})
	}
	_, err = fmt.Fprintf(c.App.Writer, "%d other devices had a token that has ended, and need a new one: they get it when they ask.\n", n)
	return err
}

// devices are the records of those that are named.
func (d *desk) devices(c *cli.Context) (devices []schema.Device, err error) {
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

// statusLine is a device whose status was changed, in JSON.
type statusLine struct {
	Device   schema.DeviceID `json:"device"`
	Status   schema.Status   `json:"status"`
	Readings string          `json:"readings"`
	AtExpiry bool            `json:"atExpiry,omitempty"`
}

// bereftLine is how many other devices have lost a token, in JSON.
type bereftLine struct {
	NeedNewToken int `json:"needNewToken"`
}

// abreast is how many devices are changed at the same time: one rotation of a
// cohort then serves several of them.
const abreast = 8

// change changes the status of devices, and says so of each, in their order.
func (d *desk) change(c *cli.Context, devices []schema.Device, to schema.Status) error {
	policies := d.policies(slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)))
	for len(devices) > 0 {
		n := min(abreast, len(devices))
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
		return writeJSONLine(c.App.Writer, statusLine{Device: device.ID, Status: to, Readings: device.Readings, AtExpiry: to == schema.Revoked && c.Bool("at-expiry")})
	}
	told := "may have tokens again"
	switch {
	case to == schema.Active:
	case c.Bool("at-expiry"):
		told = "is revoked: it gets no token, and what it has expires" + lastExpiry(device)
	case delay > 0:
		told = "is revoked: it gets no token, and within " + short(delay) + " it has none that works"
	default:
		told = "is revoked: it gets no token, and has none that works"
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s %s\n", device.ID, told)
	return err
}

// lastExpiry says when the last of a device's tokens ends, if any has not.
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

// checkLockout refuses what would lock others out for long: devices whose tokens
// live for more than a day may not ask for another for weeks.
func (d *desk) checkLockout(c *cli.Context, devices []schema.Device) error {
	all, err := d.Enrollments.All(c.Context)
	if err != nil {
		return err
	}
	long := map[schema.EnrollmentID]schema.Enrollment{}
	for _, e := range all {
		if e.Life > sas.LongLife {
			long[e.ID] = e
		}
	}
	for _, device := range devices {
		e, is := long[device.Enrollment]
		if !is {
			continue
		}
		n, err := d.bereft(c, devices)
		if err != nil {
			return err
		}
		return usagef(c, "the tokens of enrollment %s live for %s, and its devices may not ask for another before: revoking %s locks out %d other devices until they ask again; --yes does it, --at-expiry waits for the tokens to expire",
			e.ID, schema.Window(e.Life), device.ID, n)
	}
	return nil
}

// A cohort is devices of a readings table whose tokens hang on one policy.
type cohort struct {
	table  string
	number int
}

func cohortOf(d schema.Device) cohort {
	return cohort{strings.ToLower(d.Readings), sas.Cohort(d.ID)} // names of tables do not differ by case alone
}

// bereft counts the other devices with a token that ends, or has ended, with those
// of the given ones. It reads all devices of the fleet, a thousand a request.
func (d *desk) bereft(c *cli.Context, devices []schema.Device) (n int, err error) {
	cohorts, given := map[cohort]bool{}, map[schema.DeviceID]bool{}
	for _, device := range devices {
		cohorts[cohortOf(device)], given[device.ID] = true, true
	}
	now := tables.TicksOf(time.Now())
	wanted := tables.Query{Select: []string{"Month", "Tenant", "Readings", "Status", "Tokens"}}
	for page, err := range d.Registry.Devices.Rows(c.Context, wanted) {
		if err != nil {
			return 0, err
		}
		for _, row := range page.Rows {
			device, err := schema.DeviceOf(row)
			if err != nil {
				return 0, err
			}
			if !given[device.ID] && device.Status != schema.Revoked && cohorts[cohortOf(device)] && holdsToken(device, now) {
				n++
			}
		}
	}
	return n, nil
}

func holdsToken(device schema.Device, now tables.Ticks) bool {
	for _, t := range device.Tokens {
		if t.Expiry > now {
			return true
		}
	}
	return false
}
