package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/worker/query"
)

func modelCommand() *cli.Command {
	return &cli.Command{
		Name:  "model",
		Usage: "Show what the rows of devices mean, and try it on rows that are stored",
		Subcommands: []*cli.Command{{
			Name:        "list",
			Usage:       "List the models of the current configuration, of an earlier generation, or of a file",
			Description: examples("model list", "model list site.yaml"),
			ArgsUsage:   "[GENERATION|FILE]",
			Flags: append(storageFlags(),
				boolFlag("json", "Same as --format jsonl"), formatFlag()),
			Action: modelList,
		}, {
			Name:        "show",
			Usage:       "Print a model as in a configuration file",
			Description: examples("model show fryer"),
			ArgsUsage:   "MODEL",
			Flags: append(storageFlags(),
				&cli.StringFlag{Name: "config", Usage: "`FILE` to read instead of the stored configuration"},
				jsonFlag()),
			Action: modelShow,
		}, modelTryCommand()},
	}
}

func modelList(c *cli.Context) error {
	loaded, err := configurationFor(c)
	if err != nil {
		return err
	}
	// there is always the model of devices of no other
	return answer(c, query.Mapped(query.Records(loaded.Models, nil), modelLineOf), nil)
}

// configurationFor reads the file or generation that a command names, or else the current configuration.
func configurationFor(c *cli.Context) (*config.Config, error) {
	shown, err := namedText(c, configPath(c))
	if err != nil {
		return nil, err
	}
	return shown.read()
}

// A modelLine is a model in lists. The one of the devices of no other has no name.
type modelLine struct {
	Model   string `json:"model,omitempty" column:"model"` // absent: of devices of no other
	Match   string `json:"match,omitempty" column:"match"` // in words
	Sensors int    `json:"sensors" column:"sensors"`
	Long    bool   `json:"long"` // a row is one value of a named sensor
	Form    string `json:"-" column:"form"`
}

func modelLineOf(m config.Model) modelLine {
	l := modelLine{Model: m.Name, Match: m.MatchText(), Sensors: len(m.Sensors), Long: m.Long.Name != "", Form: "wide"}
	if l.Long {
		l.Form = fmt.Sprintf("long: %s, %s", m.Long.Name, m.Long.Value)
	}
	return l
}

func modelShow(c *cli.Context) error {
	shown, err := namedText(c, c.String("config"))
	if err != nil {
		return err
	}
	loaded, err := shown.read()
	if err != nil {
		return err
	}
	m, err := modelNamed(loaded, c.Args().First())
	if err != nil {
		return err
	}
	return printBlock(c, "models", config.ShownBlock(m), shown.title)
}

// printBlock prints a model or a rule, as JSON or below a key as in a configuration file.
func printBlock(c *cli.Context, key string, block any, title string) error {
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, block)
	}
	text, err := config.BlockYAML(key, block)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "# %s\n%s", title, text)
	return err
}

// modelNamed returns a model of a configuration.
func modelNamed(c *config.Config, name string) (*config.Model, error) {
	return oneNamed("model", c.Models, func(m config.Model) string { return m.Name }, name)
}

// oneNamed returns the model or the rule of a configuration that has a name.
func oneNamed[T any](what string, all []T, nameOf func(T) string, name string) (*T, error) {
	var names []string
	for i := range all {
		switch own := nameOf(all[i]); own {
		case name:
			return &all[i], nil
		case "":
		default:
			names = append(names, own)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no %s %q; the configuration has none", what, name)
	}
	return nil, fmt.Errorf("there is no %s %q; there are %s", what, name, strings.Join(names, ", "))
}
