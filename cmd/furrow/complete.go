package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// completeCommand is the hidden first word with which a shell's completion script asks for words.
const completeCommand = "__complete"

// exitFiles is the exit code of completeCommand where the shell should complete the names of files.
const exitFiles = 3

// completeFor is the maximum time of a completion: a person waits for it, and storage may be unreachable.
const completeFor = 2 * time.Second

// A candidate is a word that could stand at the cursor. Shells that can, show the text beside it.
type candidate struct{ word, about string }

// A completion is a command line whose last word is being typed. It is only read: no action of a command runs.
type completion struct {
	app     *cli.App
	command *cli.Command // nil for the program itself
	before  []string     // words between the names of the command and the cursor
	word    string       // before the cursor; may be empty
}

// complete prints candidates in the form of a shell. args are the name of the shell, and what its script passes on.
func complete(ctx context.Context, app *cli.App, args []string) int {
	ctx, cancel := context.WithTimeout(ctx, completeFor)
	defer cancel()
	if len(args) == 0 {
		return exitUsage
	}
	typed, print := shellOf(args[0], args[1:])
	if print == nil || len(typed) == 0 {
		return exitUsage
	}
	found, files := newCompletion(app, typed).candidates(ctx)
	for _, c := range found {
		fmt.Fprintln(app.Writer, print(c))
	}
	if files && len(found) == 0 {
		return exitFiles
	}
	return exitOK
}

func newCompletion(app *cli.App, typed []string) completion {
	last := len(typed) - 1
	_, before, command := findCommand(app.Commands, append([]string{app.Name}, typed[:last]...))
	return completion{app, command, before, typed[last]}
}

func (c completion) candidates(ctx context.Context) (found []candidate, files bool) {
	switch {
	case c.command == nil && len(c.before) > 0 && c.before[0] == "help":
		return c.help(), false
	case c.command == nil || len(c.command.Subcommands) > 0 && c.command.ArgsUsage == "":
		if len(c.before) > 0 {
			return nil, false // an unknown command
		}
		return c.commands(), false
	}
	flag, args, onlyArguments := c.scan()
	name, value, assigned := strings.Cut(strings.TrimLeft(c.word, "-"), "=")
	switch isFlag := strings.HasPrefix(c.word, "-") && !onlyArguments; {
	case flag != nil:
		return c.values(ctx, flag, c.word)
	case isFlag && assigned:
		flag := namedFlag(c.command, name)
		if flag == nil {
			return nil, false
		}
		found, files = c.values(ctx, flag, value)
		for i := range found {
			found[i].word = strings.TrimSuffix(c.word, value) + found[i].word
		}
		return found, files
	case isFlag:
		return c.flags(), false
	}
	found, files = c.argument(ctx, args)
	if len(found) == 0 && !files && c.word == "" && !onlyArguments {
		return c.flags(), false
	}
	return found, files
}

// scan reads the words between the names of the command and the cursor: the flag whose value the cursor is at, if
// any, and the arguments.
func (c completion) scan() (pending cli.Flag, args []string, onlyArguments bool) {
	words := divided(c.command, c.before)
	if n := len(words.flags); n > 0 && len(words.flags[n-1]) == 1 && takesValue(c.command, words.flags[n-1][0]) {
		pending = namedFlag(c.command, strings.TrimLeft(words.flags[n-1][0], "-"))
	}
	return pending, words.args, words.onlyArg
}

// commands returns the commands of a group, and the flags of the program.
func (c completion) commands() []candidate {
	commands, words := c.app.Commands, []candidate{{"--help", "Show help"}}
	if c.command != nil {
		commands = c.command.Subcommands
	} else {
		words = append(words, candidate{"--version", "Print the version"})
	}
	if !strings.HasPrefix(c.word, "-") {
		words = nil
	}
	for _, sub := range commands {
		if !sub.Hidden {
			words = append(words, candidate{sub.Name, sub.Usage})
		}
	}
	if c.command == nil {
		words = append(words, candidate{"help", "Show help for a command or topic"})
	}
	return startingWith(c.word, words)
}

// help returns what can follow "furrow help".
func (c completion) help() []candidate {
	asked := newCompletion(c.app, append(slices.Clone(c.before[1:]), c.word))
	if len(asked.before) > 0 || asked.command != nil && len(asked.command.Subcommands) == 0 {
		return nil
	}
	words := asked.commands()
	if asked.command == nil {
		for _, t := range topics() {
			words = append(words, startingWith(c.word, []candidate{{t.name, t.title}})...)
		}
	}
	return words
}

// flags returns the flags that are not given yet, and those that may be repeated.
func (c completion) flags() []candidate {
	words := []candidate{{"--help", "Show help"}}
	for _, f := range c.command.Flags {
		visible, ok := f.(cli.VisibleFlag)
		if !ok || !visible.IsVisible() {
			continue
		}
		name := "--" + f.Names()[0]
		given := slices.ContainsFunc(c.before, func(w string) bool { return w == name || strings.HasPrefix(w, name+"=") })
		if _, repeats := f.(*cli.StringSliceFlag); given && !repeats {
			continue
		}
		words = append(words, candidate{name, strings.ReplaceAll(usageOf(f), "`", "")})
	}
	return startingWith(c.word, words)
}

func usageOf(f cli.Flag) string {
	if doc, ok := f.(cli.DocGenerationFlag); ok {
		return doc.GetUsage()
	}
	return ""
}

func namedFlag(c *cli.Command, name string) cli.Flag {
	i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return c.Flags[i]
}

func startingWith(prefix string, words []candidate) []candidate {
	return slices.DeleteFunc(words, func(c candidate) bool { return !strings.HasPrefix(c.word, prefix) })
}
