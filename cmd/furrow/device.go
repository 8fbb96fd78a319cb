package main

import (
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func deviceCommand() *cli.Command {
	return &cli.Command{
		Name:  "device",
		Usage: "Manage devices",
		Subcommands: []*cli.Command{
			deviceAddCommand(),
			deviceImportCommand(),
			deviceListCommand(),
			deviceShowCommand(),
			deviceSetCommand(),
			deviceKeyCommand(),
			deviceRevokeCommand(),
			deviceRestoreCommand(),
			deviceRemoveCommand(),
			deviceHeldCommand(),
			deviceReleaseCommand(),
		},
	}
}

// heldLine is a held device in JSON.
type heldLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Device   schema.DeviceID `json:"device"`
	Month    string          `json:"month"`
	Attempts int             `json:"attempts"`
	Until    *time.Time      `json:"until,omitempty"`
	Reason   string          `json:"reason"`
}

func deviceHeldCommand() *cli.Command {
	return &cli.Command{
		Name:  "held",
		Usage: "List devices whose jobs fail, and the reasons",
		Description: `A device that fails is retried alone and then held for a growing time. Its readings stay in their table. The
command reads the tracking rows of all pipelines, a thousand per request.` + examples("device held", "device held --prefix pump- --json"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Only IDs that start with `PREFIX`"},
			jsonFlag()),
		Action: deviceHeld,
	}
}

func deviceHeld(c *cli.Context) error {
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	found := 0
	selected := query.DeviceSelector{Prefix: c.String("prefix")}
	err = eachFailing(c, f, selected, func(p config.Pipeline, h schema.Track) error {
		found++
		return printHeld(c.App.Writer, p.Name, h, c.Bool("json"))
	})
	if found == 0 && err == nil {
		fmt.Fprintln(c.App.ErrWriter, "No device is held.")
	}
	return err
}

// eachFailing calls visit for the failing devices of each pipeline. Unreadable rows are skipped and make an error.
func eachFailing(c *cli.Context, f *roles.Fleet, devices query.DeviceSelector,
	visit func(config.Pipeline, schema.Track) error) error {
	var skipped query.Skipped
	for _, p := range f.Pipelines {
		for h, err := range f.Reader().Failing(c.Context, p.Name, schema.Month{}, devices) {
			if skipped.Add(err) {
				continue
			}
			if err == nil {
				err = visit(p, h)
			}
			if err != nil {
				return err
			}
		}
	}
	return unreadable(c, skipped)
}

func printHeld(w io.Writer, p schema.Pipeline, h schema.Track, asJSON bool) error {
	line := heldLine{Pipeline: p, Device: h.Place.Device(), Month: h.Place.Month.String(), Attempts: h.Attempts,
		Reason: h.Reason}
	until := "to be retried at once"
	if now := tables.TicksOf(time.Now()); h.HeldUntil > now {
		at := h.HeldUntil.Time()
		line.Until = &at
		until = "held until " + at.Format(time.RFC3339)
	}
	if asJSON {
		return writeJSONLine(w, line)
	}
	_, err := fmt.Fprintf(w, "%s  %s  failed %d times, %s: %s\n", p, h.Place.Device(), h.Attempts, until, h.Reason)
	return err
}

func deviceReleaseCommand() *cli.Command {
	return &cli.Command{
		Name:        "release",
		Usage:       "Retry held devices now",
		Description: examples("device release pump-7", "device release --pipeline live --all"),
		ArgsUsage:   "[DEVICE]",
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "All held devices whose IDs start with `PREFIX`"},
			boolFlag("all", "All held devices")),
		Action: deviceRelease,
	}
}

func deviceRelease(c *cli.Context) error {
	device, prefix := c.Args().First(), c.String("prefix")
	chosen := 0
	for _, is := range []bool{device != "", prefix != "", c.Bool("all")} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return usagef(c, "name one of DEVICE, --prefix and --all")
	}
	if device != "" {
		if _, err := schema.ParseDeviceID(device); err != nil {
			return usagef(c, "%v", err)
		}
	}
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	released := 0
	selected := query.DeviceSelector{Device: schema.DeviceID(device), Prefix: prefix}
	err = eachFailing(c, f, selected, func(p config.Pipeline, h schema.Track) error {
		pipeline, err := f.Jobs(p)
		if err != nil {
			return err
		}
		was, err := pipeline.Release(c.Context, h.Place)
		if was {
			released++
			fmt.Fprintf(c.App.Writer, "%s  %s is released\n", p.Name, h.Place.Device())
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case released == 0 && device != "":
		return fmt.Errorf("%s is not held in any pipeline: furrow device held lists held devices", device)
	case released == 0:
		fmt.Fprintln(c.App.ErrWriter, "No device is held.")
	}
	return nil
}
