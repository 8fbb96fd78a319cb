package main

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestHelpOfEveryCommandHasExamplesThatCanBeTyped(t *testing.T) {
	n := 0
	allCommands(func(name string, command *cli.Command) {
		n++
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
	})
	if n < 30 {
		t.Errorf("only %d commands", n)
	}
}
