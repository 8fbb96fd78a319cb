package main

import (
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "Check, show, apply and roll back the configuration",
		Description: `The configuration defines the pipelines. It starts as a file; 'config apply' stores it in the fleet's
storage as a new generation, and the newest generation holds: all processes of the fleet follow it.`,
		Subcommands: []*cli.Command{
			configCheckCommand(),
			configInitCommand(),
			configShowCommand(),
			configApplyCommand(),
			configHistoryCommand(),
			configDiffCommand(),
			configRollbackCommand(),
		},
	}
}

// configFlag belongs to every command that follows the configuration. See config.Open for an empty value.
func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", EnvVars: []string{configVariable},
		DefaultText: "./" + config.DefaultPath + ", or built in",
		Usage:       "Configuration `FILE`, used while no configuration is stored (see furrow config)"}
}

const configVariable = "FURROW_CONFIG"
