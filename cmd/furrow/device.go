package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
			deviceMoveCommand(),
			deviceKeyCommand(),
			deviceRevokeCommand(),
			deviceRestoreCommand(),
			deviceRemoveCommand(),
			deviceHeldCommand(),
			deviceReleaseCommand(),
			deviceDesiredCommand(),
		},
	}
}

// heldLine is a held device in JSON.
type heldLine struct {
	Pipeline schema.Pipeline `json:"pipeline" column:"pipeline"`
	Device   schema.DeviceID `json:"device" column:"device"`
	Month    string          `json:"month" column:"month"`
	Attempts int             `json:"attempts" column:"attempts"`
	Until    *time.Time      `json:"until,omitempty" column:"until"` // absent: it is retried at once
	Reason   string          `json:"reason" column:"reason"`
}

func deviceHeldCommand() *cli.Command {
	return &cli.Command{
		Name:  "held",
		Usage: "List devices whose jobs fail, and the reasons",
		Description: `A device that fails is retried alone and then held for a growing time. Its readings stay in their table. The
command reads the tracking rows of all pipelines, a thousand per request.` + examples("device held", "device held --prefix pump- --json"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "Only IDs that start with `PREFIX`"},
			listFlags()[0], listFlags()[1]),
		Action: deviceHeld,
	}
}

func deviceHeld(c *cli.Context) error {
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	held := failing(c.Context, f, query.DeviceSelector{Prefix: c.String("prefix")})
	return answer(c, query.Mapped(held, heldLineOf), func() (string, error) { return "no device is held", nil })
}

// A failingDevice is a device that a pipeline could not fold.
type failingDevice struct {
	pipeline config.Pipeline
	schema.Track
}

// failing yields the failing devices of each pipeline. Those that have left the fleet are none, though their rows stay.
func failing(ctx context.Context, f *roles.Fleet, devices query.DeviceSelector) iter.Seq2[failingDevice, error] {
	return func(yield func(failingDevice, error) bool) {
		for _, p := range f.Pipelines {
			for h, err := range f.Reader().Progress().Failing(ctx, p.Name, schema.Month{}, devices) {
				is := true
				if err == nil {
					m := schema.Member{Month: h.Place.Month, Tenant: h.Place.Key.Tenant(), Device: h.Place.Device()}
					is, err = f.Reader().Devices().HasMembership(ctx, m)
				}
				if (is || err != nil) && !yield(failingDevice{p, h}, err) {
					return
				}
			}
		}
	}
}

func heldLineOf(h failingDevice) heldLine {
	line := heldLine{Pipeline: h.pipeline.Name, Device: h.Place.Device(), Month: h.Place.Month.String(),
		Attempts: h.Attempts, Reason: h.Reason}
	if h.HeldAt(tables.TicksOf(time.Now())) {
		line.Until = new(h.HeldUntil.Time())
	}
	return line
}

func deviceReleaseCommand() *cli.Command {
	return &cli.Command{
		Name:        "release",
		Usage:       "Retry held devices now",
		Description: examples("device release pump-7", "device release --pipeline live --all"),
		ArgsUsage:   "[DEVICE]",
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "prefix", Usage: "All held devices whose IDs start with `PREFIX`"},
			boolFlag("all", "All held devices"),
			jsonFlag()),
		Action: deviceRelease,
	}
}

// releasedLine is a device that is no longer held, in JSON.
type releasedLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Device   schema.DeviceID `json:"device"`
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
		if _, err := argument(c, 0, schema.ParseDeviceID); err != nil {
			return err
		}
	}
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	acts := s.acts()
	released := 0
	selected := query.DeviceSelector{Device: schema.DeviceID(device), Prefix: prefix}
	var skipped query.Skipped
	for h, err := range query.Readable(failing(c.Context, f, selected), &skipped) {
		if err != nil {
			return err
		}
		pipeline, err := f.ActingOn(h.pipeline)
		if err != nil {
			return err
		}
		line := releasedLine{h.pipeline.Name, h.Place.Device()}
		was, err := acts.Release(c.Context, commandActor(), pipeline, h.Place)
		if was {
			released++
			err = errors.Join(printLine(c, line, fmt.Sprintf("%s  %s is released", line.Pipeline, line.Device)), err)
		}
		if err != nil {
			return err
		}
	}
	switch err := unreadable(c, skipped); {
	case err != nil:
		return err
	case released == 0 && device != "":
		return fmt.Errorf("%s is not held in any pipeline: furrow device held lists held devices", device)
	case released == 0:
		fmt.Fprintln(c.App.ErrWriter, "No device is held.")
	}
	return nil
}
