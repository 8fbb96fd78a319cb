package main

import (
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// leaves are the commands that do something, as they are typed.
func leaves(above string, commands []*cli.Command) (names []string) {
	for _, c := range commands {
		name := strings.TrimSpace(above + " " + c.Name)
		switch {
		case c.Hidden:
		case len(c.Subcommands) > 0:
			names = append(names, leaves(name, c.Subcommands)...)
		default:
			names = append(names, name)
		}
	}
	return names
}

func TestHelpOfEveryCommandHasExamplesThatCanBeTyped(t *testing.T) {
	names := leaves("", newApp(strings.NewReader(""), io.Discard, io.Discard).Commands)
	if len(names) < 30 {
		t.Errorf("only %d commands: %q", len(names), names)
	}
	for _, name := range names {
		command := commandAt(strings.Fields(name))
		_, text, _ := strings.Cut(command.Description, "Examples:\n")
		if !strings.Contains(text, "furrow "+name) {
			t.Errorf("the help of furrow %s has no example:\n%s", name, command.Description)
		}
		for line := range strings.Lines(text) {
			if words, ok := strings.CutPrefix(strings.TrimSpace(line), "furrow "); ok {
				words, _, _ = strings.Cut(words, " > ")
				checkCommand(t, strings.Fields(words))
			}
		}
	}
}

// TestReadmeSaysWhatEveryJSONIs finds each command with --json in a table of the
// README.
func TestReadmeSaysWhatEveryJSONIs(t *testing.T) {
	var rows strings.Builder
	for line := range strings.Lines(readme(t)) {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| ") {
			rows.WriteString(cell + "\n")
		}
	}
	for _, name := range leaves("", newApp(strings.NewReader(""), io.Discard, io.Discard).Commands) {
		if flagOf(commandAt(strings.Fields(name)), "json") != nil && !strings.Contains(rows.String(), "`"+name+"`") {
			t.Errorf("no table of the README has a row of `%s`, whose --json it should say", name)
		}
	}
}
