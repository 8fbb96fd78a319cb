package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/tables/commands"
	"furrow/worker/answers"
)

func deviceDesiredCommand() *cli.Command {
	return &cli.Command{
		Name:  "desired",
		Usage: "Set or show the configuration that a device is to have",
		Description: `The device reads it like a command, applies it, and acknowledges what it applied. It holds until there is a newer
one.` + examples(`device desired set oven-3 '{"limit": 180}'`, "device desired show oven-3"),
		Subcommands: []*cli.Command{{
			Name:        "set",
			Usage:       "Replace the configuration that a device is to have",
			ArgsUsage:   "DEVICE JSON",
			Description: examples(`device desired set oven-3 '{"limit": 180}'`),
			Flags:       append(storageFlags(), jsonFlag()),
			Action:      deviceDesiredSet,
		}, {
			Name:        "show",
			Usage:       "Show the configuration that a device is to have, and what the device said about it",
			ArgsUsage:   "DEVICE",
			Description: examples("device desired show oven-3", "device desired show oven-3 --json"),
			Flags:       append(storageFlags(), listFlags()...),
			Action:      deviceDesiredShow,
		}},
	}
}

func deviceDesiredSet(c *cli.Context) error {
	d, device, err := openToTell(c)
	if err != nil {
		return err
	}
	set, err := d.acts().SetDesired(c.Context, commandActor(), device, c.Args().Get(1))
	return printAct(c, err, answers.CommandOf(commands.Command{Command: set}, 0),
		fmt.Sprintf("%s is to have configuration %s", device.ID, set.ID))
}

func deviceDesiredShow(c *cli.Context) error {
	return answerCommands(c, func(all commands.All) []commands.Command {
		if all.Desired == nil {
			return nil
		}
		return []commands.Command{*all.Desired}
	}, "no configuration is set; furrow device desired set sets one")
}
