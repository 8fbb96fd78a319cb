package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/lab/simulate/fleets"
)

//go:embed examples/default.yaml
var defaultConfig string

//go:embed examples/*.yaml
var exampleConfigs embed.FS

// configPath returns the file that the argument or --config names.
func configPath(c *cli.Context) string { return cmp.Or(c.Args().First(), c.String("config")) }

func configCheckCommand() *cli.Command {
	return &cli.Command{
		Name:        "check",
		Usage:       "Report every problem of a configuration file",
		Description: examples("config check", "config check site.yaml"),
		ArgsUsage:   "[FILE]",
		Flags:       []cli.Flag{configFlag(), jsonFlag()},
		Action:      configCheck,
	}
}

type (
	// checkedLine is a valid configuration in JSON.
	checkedLine struct {
		File      string `json:"file"`
		Pipelines int    `json:"pipelines"`
	}
	// fileLine is a file that was written, in JSON.
	fileLine struct {
		File string `json:"file"`
	}
)

func configCheck(c *cli.Context) error {
	path := configPath(c)
	checked, err := config.Load(path)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return reportProblems(c, problems)
	}
	if err != nil {
		return err
	}
	return printLine(c, checkedLine{sourceOf(path), len(checked.Pipelines)}, sourceOf(path)+": "+summary(checked))
}

// reportProblems prints a line for each problem, in the form that editors understand.
func reportProblems(c *cli.Context, problems config.Problems) error {
	for _, p := range problems {
		if err := printLine(c, p, p.String()); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has %s", problems[0].File, problems.Count())
}

// sourceOf describes the source of what config.Load returns for a path.
func sourceOf(path string) string {
	if path != "" {
		return path
	}
	if _, err := os.Stat(config.DefaultPath); err == nil {
		return config.DefaultPath
	}
	return "built in, as there is no ./" + config.DefaultPath
}

// summary is "2 pipelines: live (latest, rollup; every 1m), archive (archive; every 1h)".
func summary(c *config.Config) string {
	return many(int64(len(c.Pipelines)), "pipeline") + ": " + textOf(c.Pipelines)
}

func configInitCommand() *cli.Command {
	return &cli.Command{
		Name:        "init",
		Usage:       "Write a commented configuration file with the defaults",
		Description: examples("config init", "config init site.yaml", "config init --example oil"),
		ArgsUsage:   "[FILE]",
		Flags: []cli.Flag{configFlag(), choiceFlag("example", "the defaults", fleets.Names(),
			"`FLEET` whose ready configuration to write: temperatures, kitchens, oil, bottles or ground"), jsonFlag()},
		Action: configInit,
	}
}

// configInit creates the file exclusively, so that it never replaces one.
func configInit(c *cli.Context) error {
	path := cmp.Or(configPath(c), config.DefaultPath)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	text := []byte(defaultConfig)
	if name := c.String("example"); name != "" {
		if text, err = exampleConfigs.ReadFile("examples/" + name + ".yaml"); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return printLine(c, fileLine{path}, fmt.Sprintf("%s is written. Check it with 'furrow config check', and store it "+
		"with "+
		"'furrow config apply %s'.", path, path))
}

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
