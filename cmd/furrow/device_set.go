package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/factory"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

func deviceSetCommand() *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "Change a device's site, position, labels or model",
		ArgsUsage: "DEVICE",
		Description: `Flags that are not given change nothing. If the device has another model afterwards, its
history is folded again; otherwise readings that are already processed keep their outputs. Reports of
sites and labels count a device where it was when their hour or day began, whenever they are made. Repeating
the command is safe, and completes a change that was interrupted.` + examples("device set pump-7 --site 'Hall 2' --label model=BME680 --no-label old"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "site", Usage: "`SITE` of the device; an empty text removes it"},
			&cli.StringFlag{Name: "lat", Usage: "Latitude in `DEGREES`"},
			&cli.StringFlag{Name: "lon", Usage: "Longitude in `DEGREES`"},
			boolFlag("no-position", "Remove the position"),
			&cli.StringSliceFlag{Name: "label", Usage: "Label to add or change as `NAME=TEXT`; may be repeated"},
			&cli.StringSliceFlag{Name: "no-label", Usage: "Label to remove, by `NAME`; may be repeated"},
			&cli.StringFlag{Name: "model", Usage: "`MODEL` of the configuration; an empty text means the first that matches"},
			jsonFlag()),
		Action: deviceSet,
	}
}

func deviceSet(c *cli.Context) error {
	change, err := deviceChange(c)
	if err != nil {
		return err
	}
	d, device, err := openNamedDevice(c)
	if err != nil {
		return err
	}
	id := device.ID
	errLog := d.recorded(c.Context, schema.Act{What: "device set", Device: id, Tenant: device.Tenant,
		Detail: given(c)}, func(ctx context.Context) (_ string, err error) {
		device, err = d.Registry.Change(ctx, id, change)
		return "", err
	})
	if undone(errLog) {
		return fmt.Errorf("device %s: %w", id, errLog)
	}
	r := answers.RecordOf(device)
	r.InFleet, r.Tokens = new(true), answers.TokensOf(device, nil)
	return errors.Join(printLine(c, r, recordText(r)), errLog)
}

// given returns the flags that a command was given, except those about storage, for the activity log.
func given(c *cli.Context) string {
	var flags []string
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if slices.Contains([]string{"storage", "names-prefix", "ca", "json", "yes", "master-key-file"}, name) ||
			!c.IsSet(name) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag:
			flags = append(flags, "--"+name)
		case *cli.GenericFlag:
			flags = append(flags, fmt.Sprintf("--%s %v", name, c.Generic(name)))
		case *cli.StringSliceFlag:
			flags = append(flags, "--"+name+" "+strings.Join(c.StringSlice(name), ","))
		default:
			flags = append(flags, fmt.Sprintf("--%s %v", name, c.Value(name)))
		}
	}
	return strings.Join(flags, " ")
}

// deviceChange returns the change that the flags describe.
func deviceChange(c *cli.Context) (func(*schema.Device) error, error) {
	position, err := factory.ParsePosition(c.String("lat"), c.String("lon"))
	if err != nil {
		return nil, usagef(c, "--lat, --lon: %v", err)
	}
	labels, err := labelsOf(c)
	if err != nil {
		return nil, err
	}
	removed := c.StringSlice("no-label")
	site := c.String("site")
	if site != "" {
		if _, err := schema.ParseSite(site); err != nil {
			return nil, usagef(c, "--site: %v", err)
		}
	}
	model := c.String("model")
	if model != "" {
		if _, err := schema.ParseModel(model); err != nil {
			return nil, usagef(c, "--model %q: %v", model, err)
		}
	}
	for _, name := range removed {
		if _, both := labels[name]; both {
			return nil, usagef(c, "--label and --no-label both name %q", name)
		}
	}
	switch {
	case position != nil && c.Bool("no-position"):
		return nil, usagef(c, "--no-position excludes --lat and --lon")
	case !c.IsSet("site") && !c.IsSet("model") && position == nil && !c.Bool("no-position") &&
		len(labels)+len(removed) == 0:
		return nil, usagef(c, "nothing to change: give --site, --lat and --lon, --no-position, --label, --no-label or "+
			"--model")
	}
	return func(d *schema.Device) error {
		if c.IsSet("site") {
			d.Site = schema.Site(site)
		}
		if c.IsSet("model") {
			d.Model = model
		}
		if position != nil || c.Bool("no-position") {
			d.Position = position
		}
		if d.Labels == nil {
			d.Labels = map[string]string{}
		}
		maps.Copy(d.Labels, labels)
		for _, name := range removed {
			delete(d.Labels, name)
		}
		return nil
	}, nil
}
