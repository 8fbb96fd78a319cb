package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

// A usageError is an invalid command line. The program exits with exitUsage.
type usageError struct {
	command string // whose help to read
	text    string
}

func (e *usageError) Error() string { return e.text }

func usagef(c *cli.Context, format string, args ...any) error {
	return &usageError{command: c.Command.HelpName, text: fmt.Sprintf(format, args...)}
}

// unknownCommand is the action of a group of commands: it prints the group's help, or an error for a command
// that it does not have.
func unknownCommand(c *cli.Context) error {
	word := c.Args().First()
	if word == "" {
		return cli.ShowSubcommandHelp(c)
	}
	var names []string
	for _, sub := range c.Command.Subcommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return usagef(c, "unknown command %q of %s%s", word, c.Command.HelpName, didYouMean(word, names, ""))
}

// flagError rewords errors of the flag package.
func flagError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if word, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		word = strings.TrimLeft(word, "-")
		return usagef(c, "unknown flag --%s of %s%s", word, c.Command.HelpName, didYouMean(word, flagNames(c), "--"))
	}
	if word, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef(c, "--%s needs a value", strings.TrimLeft(word, "-"))
	}
	return usagef(c, "%s", strings.Replace(text, " for flag -", " for --", 1))
}

func flagNames(c *cli.Context) []string {
	names := []string{"help"}
	for _, flag := range c.Command.Flags {
		names = append(names, flag.Names()...)
	}
	return names
}

// addressFlag returns the address to listen on that a flag gives.
func addressFlag(c *cli.Context, flag string) (string, error) {
	address := c.String(flag)
	if _, _, err := net.SplitHostPort(address); err != nil {
		advice := ""
		if _, wrong := strconv.ParseUint(address, 10, 16); wrong == nil {
			advice = fmt.Sprintf("; did you mean 127.0.0.1:%[1]s, for this machine only, or 0.0.0.0:%[1]s, for all addresses?",
				address)
		}
		return "", usagef(c, "--%s: %v%s", flag, err, advice)
	}
	return address, nil
}

// didYouMean returns "; did you mean …?", or nothing if no name is similar.
func didYouMean(word string, names []string, prefix string) string {
	name := setup.Nearest(word, names)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", prefix+name)
}
