package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/admin"
)

func deviceRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "Revoke devices: their tokens end, and they get no others",
		ArgsUsage: "DEVICE...",
		Description: `Ends the tokens of the device's whole cohort, a quarter of the devices that share its readings table; the others
request new ones. Readings that storage has accepted are still processed. Revoking again changes nothing.
Tokens of an enrollment with --revocation at-expiry end only when they expire, at most an hour later; the command says
when.` + examples("device revoke pump-7", "device revoke pump-7 pump-8 --at-expiry"),
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
	devices, err := d.devices(c.Context, c.Args().Slice(), d.device)
	if err != nil {
		return err
	}
	ending, err := d.ending(c, devices, to)
	if err != nil {
		return err
	}
	if len(ending) > 0 && !c.Bool("yes") {
		if err := d.checkLockout(c.Context, ending); err != nil {
			return err
		}
	}
	if err := d.change(c, devices, to, ending); err != nil || len(ending) == 0 {
		return err
	}
	n, err := d.others(c.Context, ending, true)
	if err != nil {
		return fmt.Errorf("the devices are revoked, but the others that need a new token cannot be counted: %w", err)
	}
	return printLine(c, affectedLine{n}, many(int64(n), "other device")+" must request a new token, and will get it.")
}

// ending returns the devices whose tokens a change ends at once.
func (d *deviceAdmin) ending(c *cli.Context, devices []schema.Device, to schema.Status) (ending []schema.Device,
	err error) {
	if to != schema.Revoked || c.Bool("at-expiry") {
		return nil, nil
	}
	f := d.acts()
	for _, device := range devices {
		atExpiry, err := f.AtExpiry(c.Context, device)
		if err != nil {
			return nil, err
		}
		if !atExpiry {
			ending = append(ending, device)
		}
	}
	return ending, nil
}

// devices returns the records of the devices with the IDs, as get does.
func (d *deviceAdmin) devices(
	ctx context.Context, ids []string, get func(context.Context, schema.DeviceID) (schema.Device, error),
) (devices []schema.Device, err error) {
	if len(ids) == 0 {
		return nil, usagef(d.c, "name one device or more")
	}
	named := map[schema.DeviceID]bool{} // a list of registered devices has some twice after a second import
	for _, text := range ids {
		id, err := schema.ParseDeviceID(text)
		if err != nil {
			return nil, usagef(d.c, "%v", err)
		}
		if named[id] {
			continue
		}
		named[id] = true
		device, err := get(ctx, id)
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
	AtExpiry bool            `json:"atExpiry,omitempty"` // its tokens end when they expire
	Until    *time.Time      `json:"until,omitempty"`    // when the last one does that did not end at once
}

// affectedLine is how many other devices need a new token, in JSON.
type affectedLine struct {
	NeedNewToken int `json:"needNewToken"`
}

// concurrentChanges lets one rotation of a cohort serve several devices.
const concurrentChanges = 8

// change changes the status of devices and prints each, in order. The tokens of those that are ending end at once.
func (d *deviceAdmin) change(c *cli.Context, devices []schema.Device, to schema.Status, ending []schema.Device) error {
	f := d.acts()
	for len(devices) > 0 {
		n := min(concurrentChanges, len(devices))
		errs := make([]error, n)
		var all sync.WaitGroup
		for i, device := range devices[:n] {
			all.Go(func() {
				if to == schema.Active {
					_, errs[i] = f.Restore(c.Context, commandActor(), device)
				} else {
					_, errs[i] = f.Revoke(c.Context, commandActor(), device, c.Bool("at-expiry"))
				}
			})
		}
		all.Wait()
		for i, device := range devices[:n] {
			if undone(errs[i]) {
				return errs[i]
			}
			atExpiry := to == schema.Revoked && !slices.ContainsFunc(ending, func(o schema.Device) bool {
				return o.ID == device.ID
			})
			err := d.printStatus(c, device, to, atExpiry, f.Policies.Delay)
			if err := errors.Join(err, errs[i]); err != nil {
				return err
			}
		}
		devices = devices[n:]
	}
	return nil
}

func (d *deviceAdmin) printStatus(
	c *cli.Context, device schema.Device, to schema.Status, atExpiry bool, delay time.Duration,
) error {
	until := admin.LastUnended(device)
	if atExpiry {
		now, err := d.device(c.Context, device.ID) // it may have got a token just before
		if err != nil {
			return fmt.Errorf("device %s is revoked, but it is not known when its last token expires: %w", device.ID, err)
		}
		until = admin.LastExpiry(now)
	}
	line := statusLine{Device: device.ID, Status: to, Readings: device.Readings, AtExpiry: atExpiry}
	if !until.IsZero() && to == schema.Revoked {
		line.Until = &until
	}
	told := "can get tokens again"
	switch {
	case to == schema.Active:
	case atExpiry && until.IsZero():
		told = "is revoked: it gets no new token, and has none"
	case atExpiry:
		told = "is revoked: it gets no new token, and its last one expires at " + until.Format(time.RFC3339)
	case !until.IsZero():
		told = "is revoked: it gets no new token, and the last one that no revocation ends expires at " +
			until.Format(time.RFC3339)
	case delay > 0:
		told = "is revoked: it gets no new token, and its tokens stop working within " + short(delay)
	default:
		told = "is revoked: it gets no new token, and its tokens no longer work"
	}
	return printLine(c, line, fmt.Sprintf("%s %s", device.ID, told))
}

// checkLockout refuses a revocation that locks out other devices for long.
func (d *deviceAdmin) checkLockout(ctx context.Context, devices []schema.Device) error {
	device, e, locks, err := d.acts().Lockout(ctx, devices)
	if err != nil || !locks {
		return err
	}
	n, err := d.others(ctx, devices, false)
	if err != nil {
		return err
	}
	return usagef(d.c, "the tokens of enrollment %s live for %s, and its devices may not request another before they "+
		"expire: revoking %s locks out %s until they do; confirm with --yes, or let the tokens expire with --at-expiry",
		e.ID, schema.Window(e.Life), device.ID, many(int64(n), "other device"))
}

// others counts the devices that a revocation of the given ones affects; see admin.Fleet.
func (d *deviceAdmin) others(ctx context.Context, devices []schema.Device, ended bool) (int, error) {
	return d.acts().Others(ctx, devices, ended, "", d.notCounted)
}

// eachDevice calls visit for each device of the fleet, with its tokens. It reports records of newer
// programs and skips them.
func (d *deviceAdmin) eachDevice(ctx context.Context, visit func(schema.Device) error) error {
	return d.acts().EachDevice(ctx, visit, d.notCounted)
}

func (d *deviceAdmin) notCounted(err error) {
	fmt.Fprintf(d.c.App.ErrWriter, "furrow: not counted: %v\n", err)
}
