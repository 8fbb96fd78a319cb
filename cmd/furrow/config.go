package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
)

//go:embed examples/default.yaml
var defaultConfig string

func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "check, show or begin the file that says which pipelines there are",
		Subcommands: []*cli.Command{
			{
				Name:      "check",
				Usage:     "say everything that is wrong with a configuration file",
				ArgsUsage: "[FILE]",
				Flags:     []cli.Flag{configFlag()},
				Action:    configCheck,
			},
			{
				Name:   "show",
				Usage:  "print the configuration that holds, with everything filled in that the file leaves out",
				Flags:  []cli.Flag{configFlag(), &cli.BoolFlag{Name: "json", Usage: "print it as JSON"}},
				Action: configShow,
			},
			{
				Name:      "init",
				Usage:     "write a file that says what holds without one, with comments",
				ArgsUsage: "[FILE]",
				Flags:     []cli.Flag{configFlag()},
				Action:    configInit,
			},
		},
	}
}

// configFlag is that of every command that heeds the configuration. An empty
// value is for config.Load to interpret.
func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name:        "config",
		EnvVars:     []string{"FURROW_CONFIG"},
		DefaultText: "./" + config.DefaultPath + ", or built in",
		Usage:       "`FILE` that says which pipelines there are",
	}
}

// loadConfig is the configuration that a command with configFlag was given.
func loadConfig(c *cli.Context) (*config.Config, error) { return config.Load(c.String("config")) }

// configPath is the file that a command names as its argument or by --config.
func configPath(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", usagef(c, "%s takes one file, and %q is another", c.Command.HelpName, c.Args().Get(1))
	}
	return cmp.Or(c.Args().First(), c.String("config")), nil
}

func configCheck(c *cli.Context) error {
	path, err := configPath(c)
	if err != nil {
		return err
	}
	checked, err := config.Load(path)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return reportProblems(c, problems)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s\n", sourceOf(path), summary(checked))
	return err
}

// reportProblems prints problems as editors read them, a line each.
func reportProblems(c *cli.Context, problems config.Problems) error {
	for _, p := range problems {
		if _, err := fmt.Fprintln(c.App.Writer, p); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has %s", problems[0].File, problems.Count())
}

// sourceOf says where the configuration is from that config.Load gave.
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
	text := "1 pipeline: "
	if n := len(c.Pipelines); n > 1 {
		text = fmt.Sprintf("%d pipelines: ", n)
	}
	for i, p := range c.Pipelines {
		if i > 0 {
			text += ", "
		}
		text += p.String()
	}
	return text
}

func configShow(c *cli.Context) error {
	loaded, err := loadConfig(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		text, err := loaded.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "%s\n", text)
		return err
	}
	text, err := loaded.YAML()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "# %s\n%s", sourceOf(c.String("config")), text)
	return err
}

// configInit makes the file in one step, so that it never replaces one.
func configInit(c *cli.Context) error {
	path, err := configPath(c)
	if err != nil {
		return err
	}
	path = cmp.Or(path, config.DefaultPath)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; remove it first, or name another file", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(defaultConfig)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s is written; 'furrow config check' tells whether it is right after a change\n", path)
	return err
}
