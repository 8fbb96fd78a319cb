package main

import (
	"fmt"
	"os/user"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/query"
)

func rewindCommand() *cli.Command {
	return &cli.Command{
		Name:      "rewind",
		Usage:     "Reprocess readings from a point in time",
		ArgsUsage: "[DEVICE]",
		Description: `Folds all readings since that time again, a day at a time, and replaces the outputs, while workers continue
with new readings. Each device's tracking row records who asked for it and when. Audit jobs do the work, so
workers must run.` + examples("rewind pump-7 --to -36h", "rewind --tenant contoso --to 2026-11-20 --dry-run"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "All devices whose IDs start with `PREFIX`"},
			&cli.StringFlag{Name: "tenant", Usage: "All devices of `TENANT`"},
			&cli.StringFlag{Name: "to", Usage: "`TIME` to go back to: 2026-11-20T08:00:00Z, 2026-11-20, or " +
				"-36h for 36 hours ago"},
			boolFlag("dry-run", "Count the devices concerned and change nothing"),
			jsonFlag()),
		Action: rewind,
	}
}

// rewoundLine is a rewind of a pipeline in JSON.
type rewoundLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Devices  int             `json:"devices"`
	To       time.Time       `json:"to"` // from where their readings are folded again
	DryRun   bool            `json:"dryRun"`
}

func rewind(c *cli.Context) error {
	devices := query.DeviceSelector{Device: schema.DeviceID(c.Args().First()), Prefix: c.String("prefix"),
		Tenant: schema.Tenant(c.String("tenant"))}
	if devices == (query.DeviceSelector{}) {
		return usagef(c, "name a DEVICE, a --prefix or a --tenant")
	}
	if devices.Device != "" {
		if _, err := argument(c, 0, schema.ParseDeviceID); err != nil {
			return err
		}
	}
	if !c.IsSet("to") {
		return usagef(c, "name the time to go back to with --to, such as --to -36h or --to 2026-11-20")
	}
	to, err := query.ParseMoment(c.String("to"), time.Now())
	if err != nil {
		return usagef(c, "--to: %v", err)
	}
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	if devices.Device != "" {
		if err := knownDevice(c.Context, f.Reader().Devices(), devices.Device); err != nil {
			return err
		}
	}
	acts, total := s.acts(), 0
	r := admin.Rewind{Devices: devices, Tenant: tenantOf(c, acts, devices.Device), To: to}
	for _, p := range f.Pipelines {
		if p.Retains() {
			continue
		}
		pipeline, err := f.ActingOn(p)
		if err != nil {
			return err
		}
		n, verb := 0, "folds"
		if c.Bool("dry-run") {
			verb = "would fold"
			n, err = acts.WouldRewind(c.Context, pipeline, r)
		} else {
			n, err = acts.Rewind(c.Context, commandActor(), pipeline, r)
		}
		total += n
		text := fmt.Sprintf("%s %s %s again from %s on", p.Name, verb, many(int64(n), "device"),
			to.Time().Format(time.RFC3339))
		if err := printAct(c, err, rewoundLine{p.Name, n, to.Time(), c.Bool("dry-run")}, text); err != nil {
			return err
		}
	}
	if total == 0 {
		if err := knownTenant(c, f.Reader().Devices(), devices.Tenant); err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, "No such device has readings that were folded since then.")
	}
	return nil
}

// tenantOf returns the tenant of a device for the activity log; empty where there is no device or no record.
func tenantOf(c *cli.Context, acts admin.Fleet, id schema.DeviceID) schema.Tenant {
	if id == "" {
		return ""
	}
	device, err := acts.Device(c.Context, id)
	if err != nil {
		return ""
	}
	return device.Tenant
}

// operator returns the user who runs the command, for the record.
func operator() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
