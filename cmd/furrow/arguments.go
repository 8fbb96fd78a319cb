package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its arguments: people write "furrow query pump-7 --last 24h",
// but the flag package stops at the first argument. Words after "--" stay where they are.
func flagsFirst(commands []*cli.Command, args []string) []string {
	path, rest, command := findCommand(commands, args)
	if command == nil || command.ArgsUsage == "" {
		return args
	}
	var flags, others []string
	for i := 0; i < len(rest); i++ {
		switch word := rest[i]; {
		case word == "--":
			others = append(others, rest[i+1:]...)
			i = len(rest)
		case len(word) < 2 || word[0] != '-':
			others = append(others, word)
		case takesValue(command, word) && i+1 < len(rest):
			flags = append(flags, word, rest[i+1])
			i++
		default:
			flags = append(flags, word)
		}
	}
	if slices.Contains(flags, "--help") || slices.Contains(flags, "-h") {
		others = nil // or the library looks for commands of these names
	}
	return slices.Concat(path, flags, []string{"--"}, others)
}

// checkArguments compares the number of arguments with the usage of the command, such as "FROM TO", "[FILE]" or
// "DEVICE...".
func checkArguments(c *cli.Context) error {
	form, usage, n := c.Command.HelpName+" "+c.Command.ArgsUsage, strings.Fields(c.Command.ArgsUsage), c.NArg()
	for _, word := range usage[min(n, len(usage)):] {
		if !strings.HasPrefix(word, "[") {
			return usagef(c, "name the %s: %s", strings.TrimRight(word, "."), form)
		}
	}
	switch extra := c.Args().Get(len(usage)); {
	case n > 0 && len(usage) == 0:
		return usagef(c, "%s takes no arguments; %q is one", c.Command.HelpName, extra)
	case n > len(usage) && !strings.Contains(form, "..."):
		return usagef(c, "%q is one argument too many: %s", extra, form)
	}
	return nil
}

// findCommand follows the names of commands up to the first other word.
func findCommand(commands []*cli.Command, args []string) (path, rest []string, command *cli.Command) {
	for n := 1; ; n++ {
		if n >= len(args) {
			return args, nil, command
		}
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[n]) })
		if i < 0 {
			return args[:n], args[n:], command
		}
		command, commands = commands[i], commands[i].Subcommands
	}
}

// takesValue reports whether the word after a flag is its value.
func takesValue(c *cli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	if strings.Contains(name, "=") {
		return false
	}
	i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return false
	}
	_, isBool := c.Flags[i].(*cli.BoolFlag)
	return !isBool
}

// checkOneStorage refuses a repeated --storage of a command that takes one: the library would use the last.
func checkOneStorage(commands []*cli.Command, args []string) error {
	_, rest, command := findCommand(commands, args)
	if command == nil || !takesOneStorage(command) {
		return nil
	}
	n := 0
	for i := 0; i < len(rest) && rest[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimLeft(rest[i], "-"), "=")
		if name == "storage" && strings.HasPrefix(rest[i], "-") {
			n++
		}
		if takesValue(command, rest[i]) && strings.HasPrefix(rest[i], "-") {
			i++
		}
	}
	if n > 1 {
		return &usageError{command: command.HelpName, text: "--storage is repeated; this command takes one: only query, " +
			"status and dashboard show a fleet in several accounts"}
	}
	return nil
}

func takesOneStorage(c *cli.Command) bool {
	i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "storage") })
	if i < 0 {
		return false
	}
	_, one := c.Flags[i].(*cli.StringFlag)
	return one
}
