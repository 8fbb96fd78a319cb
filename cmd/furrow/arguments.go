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
	words := divided(command, rest)
	flags := slices.Concat(words.flags...)
	if slices.Contains(flags, "--help") || slices.Contains(flags, "-h") {
		words.args = nil // or the library looks for commands of these names
	}
	return slices.Concat(path, flags, []string{"--"}, words.args)
}

// A commandLine is what stands after the names of a command.
type commandLine struct {
	flags   [][]string // each as one word, or as two: its name and its value
	args    []string
	onlyArg bool // there is a --, after which no flag comes
}

// divided divides the words after the names of a command.
func divided(c *cli.Command, words []string) (l commandLine) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--":
			l.args, l.onlyArg = append(l.args, words[i+1:]...), true
			return l
		case len(word) < 2 || word[0] != '-':
			l.args = append(l.args, word)
		default:
			n := 1
			if takesValue(c, word) {
				n = min(2, len(words)-i)
			}
			l.flags = append(l.flags, words[i:i+n])
			i += n - 1
		}
	}
	return l
}

// values returns those that a flag is given.
func (l commandLine) values(name string) (all []string) {
	for _, words := range l.flags {
		flag, value, assigned := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
		switch {
		case flag != name:
		case assigned:
			all = append(all, value)
		case len(words) == 2:
			all = append(all, words[1])
		}
	}
	return all
}

// checkArguments compares the number of arguments with the usage of the command, such as "FROM TO", "[FILE]" or
// "DEVICE...". An empty argument is mostly a variable of a script that is not set.
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
	if i := slices.Index(c.Args().Slice(), ""); i >= 0 {
		return usagef(c, "the %s is empty: %s", strings.Trim(usage[min(i, len(usage)-1)], "[.]"), form)
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

func namedFlag(c *cli.Command, name string) cli.Flag {
	i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return c.Flags[i]
}

// takesValue reports whether the word after a flag is its value.
func takesValue(c *cli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	if strings.Contains(name, "=") {
		return false
	}
	flag := namedFlag(c, name)
	_, isBool := flag.(*cli.BoolFlag)
	return flag != nil && !isBool
}

// checkOneStorage refuses a repeated --storage of a command that takes one: the library would use the last.
func checkOneStorage(commands []*cli.Command, args []string) error {
	_, rest, command := findCommand(commands, args)
	if command == nil {
		return nil
	}
	_, one := namedFlag(command, "storage").(*cli.StringFlag)
	if one && len(divided(command, rest).values("storage")) > 1 {
		return &usageError{command: command.HelpName, text: "--storage is repeated; this command takes one: only query, " +
			"status and dashboard show a fleet in several accounts"}
	}
	return nil
}
