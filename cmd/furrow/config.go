package main

import (
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
)

func configCommand() *cli.Command {
	json := &cli.BoolFlag{Name: "json", Usage: "print it as JSON"}
	return &cli.Command{
		Name:  "config",
		Usage: "check, show, apply and roll back the configuration",
		Description: "The configuration says which pipelines there are. It begins as a file; 'config apply' stores it in the fleet's\n" +
			"storage as a new generation, and the newest generation holds: all processes of the fleet follow it.",
		Subcommands: []*cli.Command{
			{
				Name:      "check",
				Usage:     "report everything that is wrong with a configuration file",
				ArgsUsage: "[FILE]",
				Flags:     []cli.Flag{configFlag()},
				Action:    configCheck,
			},
			{
				Name:      "init",
				Usage:     "write a commented configuration file with the defaults",
				ArgsUsage: "[FILE]",
				Flags:     []cli.Flag{configFlag()},
				Action:    configInit,
			},
			{
				Name:      "show",
				Usage:     "print the configuration that holds, an earlier generation, or a file, with all defaults filled in",
				ArgsUsage: "[GENERATION|FILE]",
				Flags: append(storageFlags(),
					&cli.StringFlag{Name: "config", Usage: "`FILE` to print instead of the configuration that is stored"},
					&cli.BoolFlag{Name: "original", Usage: "print the text as its author wrote it, with comments and without defaults"},
					json),
				Action: configShow,
			},
			{
				Name:      "apply",
				Usage:     "check a file and store it as the new generation",
				ArgsUsage: "FILE",
				Description: "Nothing is stored if the generation that holds has this content already, or if somebody else stores another\n" +
					"one at the same time. Running processes follow within about 10 seconds; they need no restart. Where a change\n" +
					"concerns what processors make, the outputs of all history are replaced in the background.",
				Flags:  append(storageFlags(), json),
				Action: configApply,
			},
			{
				Name:   "history",
				Usage:  "list all generations: when they were stored, by whom, and what they changed",
				Flags:  append(storageFlags(), json),
				Action: configHistory,
			},
			{
				Name:      "diff",
				Usage:     "print how two generations, or a generation and a file, differ",
				ArgsUsage: "[GENERATION|FILE [GENERATION|FILE]]",
				Description: "Without arguments it compares the generation that holds with the one before it. With one argument it compares\n" +
					"a generation with the one that holds, or the one that holds with a FILE.",
				Flags:  storageFlags(),
				Action: configDiff,
			},
			{
				Name:        "rollback",
				Usage:       "store the content of an earlier generation as the new one",
				ArgsUsage:   "GENERATION",
				Description: "The history keeps all generations: a rollback can be rolled back, too.",
				Flags:       append(storageFlags(), json),
				Action:      configRollback,
			},
		},
	}
}

// configFlag is that of every command that heeds the configuration. An empty
// value is for config.Open to interpret.
func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name:        "config",
		EnvVars:     []string{configVariable},
		DefaultText: "./" + config.DefaultPath + ", or built in",
		Usage:       "`FILE` with the configuration, for as long as none is stored (see furrow config)",
	}
}

const configVariable = "FURROW_CONFIG"
