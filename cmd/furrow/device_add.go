package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/factory"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// defaultEndpoint is where furrow sas listens unless it is told otherwise.
const defaultEndpoint = "http://127.0.0.1:10080"

func deviceAddCommand() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "Register a device and print a script that sends its first reading",
		ArgsUsage: "ID",
		Description: `The script needs a shell, curl and openssl, and runs on the device or here: furrow device add pump-7 | sh.
It contains the device's key. If the device is registered already, the command changes only the site, position,
labels and model that are given.` + examples(
			"device add pump-7",
			"device add pump-7 --enrollment line4 --lat 57.456 --lon -2.0 --label class=Fryer"),
		Flags: append(append(storageFlags(), masterFlags()...), enrollmentFlag("the only one"),
			&cli.StringFlag{Name: "tenant", DefaultText: "the enrollment's", Usage: "`TENANT` that owns the device"},
			&cli.StringFlag{Name: "site", Usage: "`SITE` of the device"},
			&cli.StringFlag{Name: "lat", Usage: "Latitude in `DEGREES`"},
			&cli.StringFlag{Name: "lon", Usage: "Longitude in `DEGREES`"},
			&cli.StringSliceFlag{Name: "label", Usage: "Label as `NAME=TEXT`; may be repeated"},
			&cli.StringFlag{Name: "model", DefaultText: "the first that matches",
				Usage: "`MODEL` of the configuration that says what its rows mean"},
			&cli.StringFlag{Name: "deployed", DefaultText: "now",
				Usage: "`DATE` of deployment; it determines the device's month permanently"},
			&cli.StringFlag{Name: "url", DefaultText: "that of furrow up or furrow sas",
				Usage: "`URL` of the token endpoint as the device reaches it"},
			jsonFlag()),
		Action: deviceAdd,
	}
}

func deviceAdd(c *cli.Context) error {
	v, err := deliveryOf(c)
	if err != nil {
		return err
	}
	endpoint, caFile, err := endpointFor(c)
	if err != nil {
		return err
	}
	d, e, err := openForDevices(c)
	if err != nil {
		return err
	}
	var key sas.Key
	if !c.Bool("json") { // JSON does not show the key
		if key, _, err = d.key(e, false); err != nil {
			return err
		}
	}
	var device schema.Device
	var outcome sas.Outcome
	act := schema.Act{What: "device add", Device: v.Device, Tenant: cmp.Or(v.Tenant, e.Tenant),
		Detail: "enrollment " + string(e.ID)}
	err = d.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
		device, outcome, err = d.Registry.Import(ctx, e, v)
		return string(outcome), err
	})
	if _, refused := errors.AsType[*sas.RefusedError](err); refused {
		return fmt.Errorf("device %s: %w", v.Device, err)
	}
	r := answers.RecordOf(device)
	r.Outcome = string(outcome)
	told := map[sas.Outcome]string{sas.Added: "is registered", sas.Changed: "was changed",
		sas.Same: "was already registered"}[outcome]
	return printAct(c, err, r, fmt.Sprintf("# Device %s of tenant %s %s: month %s, table %s.\n%s",
		device.ID, device.Tenant, told, device.Month, device.Readings, firstReading(device.ID, e.ID,
			key.Of(string(device.ID)), endpoint, caFile)))
}

// endpointFor returns the token endpoint and, if that uses the certificate authority of the
// storage directory, the authority's file.
func endpointFor(c *cli.Context) (url, caFile string, err error) {
	dir := storageDirectory(c)
	if url = c.String("url"); url == "" && dir != "" {
		if url, err = setup.Endpoint(dir); err != nil {
			return "", "", err
		}
	}
	url = cmp.Or(url, defaultEndpoint)
	if err := checkEndpoint(url); err != nil {
		return "", "", usagef(c, "--url: %v", err)
	}
	if dir != "" && strings.HasPrefix(url, "https:") {
		caFile = setup.Authority(dir)
	}
	return url, caFile, nil
}

// deliveryOf reads the flags that describe a device.
func deliveryOf(c *cli.Context) (v sas.Delivery, err error) {
	if v.Position, err = factory.ParsePosition(c.String("lat"), c.String("lon")); err != nil {
		return v, usagef(c, "--lat, --lon: %v", err)
	}
	var errs [6]error
	v.Device, errs[0] = argument(c, 0, schema.ParseDeviceID)
	v.Tenant, errs[1] = parsed(c, "tenant", schema.ParseTenant)
	v.Site, errs[2] = parsed(c, "site", schema.ParseSite)
	v.Deployed, errs[3] = parsed(c, "deployed", factory.ParseDeployed)
	v.Model, errs[4] = parsed(c, "model", schema.ParseModel)
	v.Labels, errs[5] = labelsOf(c)
	return v, cmp.Or(errs[:]...)
}

// openForDevice parses the single argument and opens the fleet.
func openForDevice(c *cli.Context) (*deviceAdmin, schema.DeviceID, error) {
	id, err := argument(c, 0, schema.ParseDeviceID)
	if err != nil {
		return nil, "", err
	}
	d, err := openDeviceAdmin(c)
	return d, id, err
}

// checkEndpoint returns why a URL is invalid or unsafe in the quotes of a shell.
func checkEndpoint(url string) error {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return fmt.Errorf("%q begins with neither http:// nor https://", url)
	}
	if strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"\\`$", r) || r > '~' }) {
		return fmt.Errorf("%q contains characters that are not allowed in a URL", url)
	}
	return nil
}
