package main

import (
	"errors"
	"fmt"
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
	selected := query.DeviceSelector{Prefix: c.String("prefix")}
	held := func(yield func(heldLine, error) bool) {
		stopped := errors.New("stopped")
		err := eachFailing(c, f, selected, func(p config.Pipeline, h schema.Track) error {
			if !yield(heldLineOf(p.Name, h), nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(heldLine{}, err)
		}
	}
	return answer(c, held, func() (string, error) { return "no device is held", nil })
}

// eachFailing calls visit for the failing devices of each pipeline. Unreadable rows are skipped and make an error.
func eachFailing(c *cli.Context, f *roles.Fleet, devices query.DeviceSelector,
	visit func(config.Pipeline, schema.Track) error) error {
	var skipped query.Skipped
	for _, p := range f.Pipelines {
		for h, err := range f.Reader().Progress().Failing(c.Context, p.Name, schema.Month{}, devices) {
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

func heldLineOf(p schema.Pipeline, h schema.Track) heldLine {
	line := heldLine{Pipeline: p, Device: h.Place.Device(), Month: h.Place.Month.String(), Attempts: h.Attempts,
		Reason: h.Reason}
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
	acts := s.acts(logFor(c))
	released := 0
	selected := query.DeviceSelector{Device: schema.DeviceID(device), Prefix: prefix}
	err = eachFailing(c, f, selected, func(p config.Pipeline, h schema.Track) error {
		pipeline, err := f.ActingOn(p)
		if err != nil {
			return err
		}
		was, err := acts.Release(c.Context, commandActor(), pipeline, h.Place)
		if !was {
			return err
		}
		released++
		return errors.Join(printLine(c, releasedLine{p.Name, h.Place.Device()}, fmt.Sprintf("%s  %s is released", p.Name,
			h.Place.Device())), err)
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
