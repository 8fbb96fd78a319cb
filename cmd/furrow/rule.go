package main

import (
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/jobs/rules"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func ruleCommand() *cli.Command {
	return &cli.Command{
		Name:  "rule",
		Usage: "Show the rules that devices are watched by, and try them on readings",
		Subcommands: []*cli.Command{{
			Name:        "list",
			Usage:       "List the rules of the current configuration, of an earlier generation, or of a file",
			Description: examples("rule list", "rule list site.yaml"),
			ArgsUsage:   "[GENERATION|FILE]",
			Flags:       append(storageFlags(), listFlags()...),
			Action:      ruleList,
		}, {
			Name:        "show",
			Usage:       "Print a rule as in a configuration file",
			Description: examples("rule show overheating"),
			ArgsUsage:   "RULE",
			Flags:       append(storageFlags(), ruleConfigFlag(), jsonFlag()),
			Action:      ruleShow,
		}, ruleTryCommand(), ruleTestCommand()},
	}
}

func ruleList(c *cli.Context) error {
	loaded, err := configurationFor(c)
	if err != nil {
		return err
	}
	return answer(c, query.Mapped(query.Records(loaded.Rules, nil), ruleLineOf), func() (string, error) {
		return "the configuration has no rules", nil
	})
}

// A ruleLine is a rule in lists.
type ruleLine struct {
	Rule     schema.Rule `json:"rule" column:"rule"`
	Kind     string      `json:"kind" column:"kind"`             // key of its condition, such as threshold
	When     string      `json:"when" column:"when"`             // in words
	Match    string      `json:"match,omitempty" column:"match"` // in words; absent: all devices
	Severity string      `json:"severity" column:"severity"`     // info, warning or critical
}

func ruleLineOf(r rules.Rule) ruleLine {
	return ruleLine{r.Name, r.When.Name(), r.When.String(), config.RuleMatch(&r), string(r.Severity)}
}

func ruleConfigFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Usage: "`FILE` to read instead of the stored configuration"}
}

func ruleShow(c *cli.Context) error {
	_, r, shown, err := namedRule(c)
	if err != nil {
		return err
	}
	return printBlock(c, "rules", config.ShownBlock(r), shown.title)
}

// namedRule returns the rule that a command names first, with the configuration that has it.
func namedRule(c *cli.Context) (*config.Config, *rules.Rule, shownText, error) {
	shown, err := namedText(c, c.String("config"))
	if err != nil {
		return nil, nil, shown, err
	}
	loaded, err := shown.read()
	if err != nil {
		return nil, nil, shown, err
	}
	r, err := oneNamed("rule", loaded.Rules, func(r rules.Rule) string { return string(r.Name) }, c.Args().First())
	return loaded, r, shown, err
}
