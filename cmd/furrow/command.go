package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func commandCommand() *cli.Command {
	return &cli.Command{
		Name:  "command",
		Usage: "Send commands to devices, and show what became of them",
		Description: `The devices of an enrollment with --commands read their commands every few minutes. Each acknowledges with a
reading: received, and then succeeded or failed, with a result. The newest acknowledgement holds. A rule can send
commands, too: see the key command of rules in the configuration.` + examples(
			`command send oven-3 '{"heater": "off"}' --ttl 10m`, "command list oven-3"),
		Subcommands: []*cli.Command{{
			Name:      "send",
			Usage:     "Send a command to a device",
			ArgsUsage: "DEVICE JSON",
			Description: fmt.Sprintf(`The device gets the JSON as it is, at least once, with the ID of the command. At most %d commands may wait for
a device.`, schema.MaxCommands) + examples(`command send oven-3 '{"heater": "off"}'`, "command send oven-3 '\"reboot\"' --ttl 1d"),
			Flags: append(storageFlags(),
				durationFlagUpTo("ttl", defaultTTL, time.Second, schema.MaxCommandLife,
					"`DURATION` in which the device has to take it, from 1s to 7d; then it expires"),
				jsonFlag()),
			Action: commandSend,
		}, {
			Name:      "list",
			Usage:     "List the commands of a device, the newest first, with their states",
			ArgsUsage: "DEVICE",
			Description: `Shows those of the last week. A command is queued until the device acknowledges it, or it is canceled or expires.` +
				examples("command list oven-3", "command list oven-3 --all --json"),
			Flags:  append(storageFlags(), boolFlag("all", "Older ones as well"), listFlags()[0], listFlags()[1]),
			Action: commandList,
		}, {
			Name:        "cancel",
			Usage:       "Cancel a command that its device has not taken",
			ArgsUsage:   "DEVICE COMMAND",
			Description: examples("command cancel oven-3 0639308592000000000-a1b2c3d4"),
			Flags:       append(storageFlags(), jsonFlag()),
			Action:      commandCancel,
		}},
	}
}

// defaultTTL is how long a command waits unless its sender says otherwise.
const defaultTTL = time.Hour

func commandSend(c *cli.Context) error {
	d, device, err := openToTell(c)
	if err != nil {
		return err
	}
	sent, err := d.acts().SendCommand(c.Context, commandActor(), device, c.Args().Get(1), durationOf(c, "ttl"))
	line := answers.CommandOf(commands.Command{Command: sent}, 0)
	return printAct(c, err, line, fmt.Sprintf("command %s is sent to %s; it expires at %s", sent.ID, device.ID,
		sent.Expires.Time().Format(time.RFC3339)))
}

// openToTell opens the fleet and reads the device that a command names before its JSON.
func openToTell(c *cli.Context) (*deviceAdmin, schema.Device, error) {
	if err := schema.CheckCommandBody(c.Args().Get(1)); err != nil {
		return nil, schema.Device{}, usagef(c, "%v", err)
	}
	return openNamedDevice(c)
}

// openNamedDevice opens the fleet and reads the device that the first argument names.
func openNamedDevice(c *cli.Context) (*deviceAdmin, schema.Device, error) {
	d, id, err := openForDevice(c)
	if err != nil {
		return nil, schema.Device{}, err
	}
	device, err := d.device(c.Context, id)
	return d, device, err
}

func commandList(c *cli.Context) error {
	return answerCommands(c, func(all commands.All) []commands.Command {
		slices.Reverse(all.Commands)
		return all.Commands
	}, "no command for "+c.Args().First())
}

// answerCommands prints some of the commands of the device that the first argument names.
func answerCommands(c *cli.Context, of func(commands.All) []commands.Command, none string) error {
	d, device, err := openNamedDevice(c)
	if err != nil {
		return err
	}
	all, err := d.acts().Commands(c.Context, device.ID, c.Bool("all"))
	line := func(one commands.Command) answers.Command { return answers.CommandOf(one, all.Now) }
	return answer(c, query.Mapped(query.Records(of(all), err), line), func() (string, error) { return none, nil })
}

func commandCancel(c *cli.Context) error {
	id, err := argument(c, 1, schema.ParseCommandID)
	if err != nil {
		return err
	}
	d, device, err := openNamedDevice(c)
	if err != nil {
		return err
	}
	canceled, err := d.acts().CancelCommand(c.Context, commandActor(), device, id)
	return printAct(c, err, answers.CommandOf(canceled, tables.TicksOf(time.Now())),
		fmt.Sprintf("command %s is canceled", id))
}
