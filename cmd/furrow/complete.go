package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completeCommand is the hidden first word with which a shell's completion script asks for words.
const completeCommand = "__complete"

// A candidate is a word that could stand at the cursor. Shells that can, show the text beside it.
type candidate struct{ word, about string }

// text returns the candidate in the form of a shell.
func (c candidate) text(shell string) string {
	switch shell {
	case "zsh":
		return strings.TrimSuffix(c.word+":"+c.about, ":")
	case "fish":
		return strings.TrimSuffix(c.word+"\t"+c.about, "\t")
	}
	return c.word[strings.Index(c.word, "=")+1:] // bash keeps what is before
}

// A completion is a command line whose last word is being typed. It is only read: no action of a command runs.
type completion struct {
	app     *cli.App
	command *cli.Command // nil for the program itself
	before  []string     // words between the names of the command and the cursor
	word    string       // before the cursor; may be empty
}

// complete prints candidates in the form of a shell. args are the name of the shell, and what its script passes on: of
// bash the line up to the cursor, of others the words after the name of the program.
func complete(app *cli.App, args []string) int {
	if len(args) < 2 {
		return exitUsage
	}
	typed := args[1:]
	if args[0] == "bash" {
		typed = regexp.MustCompile(" +").Split(args[1], -1)[1:]
	}
	if len(typed) == 0 {
		return exitUsage
	}
	for _, c := range newCompletion(app, typed).candidates() {
		fmt.Fprintln(app.Writer, c.text(args[0]))
	}
	return exitOK
}

func newCompletion(app *cli.App, typed []string) completion {
	last := len(typed) - 1
	_, before, command := findCommand(app.Commands, append([]string{app.Name}, typed[:last]...))
	return completion{app, command, before, typed[last]}
}

// candidates returns the words that are known. Where there is none, shells offer the names of files.
func (c completion) candidates() []candidate {
	switch {
	case c.command == nil && len(c.before) > 0 && c.before[0] == "help":
		return c.help()
	case c.command == nil || len(c.command.Subcommands) > 0 && c.command.ArgsUsage == "":
		if len(c.before) > 0 {
			return nil // an unknown command
		}
		return c.commands()
	}
	words := divided(c.command, c.before)
	if n := len(words.flags); n > 0 && len(words.flags[n-1]) == 1 && takesValue(c.command, words.flags[n-1][0]) {
		return startingWith(c.word, c.choices(words.flags[n-1][0], ""))
	}
	usage := strings.Fields(c.command.ArgsUsage)
	switch name, _, assigned := strings.Cut(c.word, "="); {
	case strings.HasPrefix(c.word, "-") && !words.onlyArg && assigned:
		return startingWith(c.word, c.choices(name, name+"="))
	case strings.HasPrefix(c.word, "-") && !words.onlyArg:
		return c.flags()
	case len(words.args) < len(usage):
		return startingWith(c.word, fixedWords(usage[len(words.args)]))
	case c.word == "" && !words.onlyArg && !strings.Contains(c.command.ArgsUsage, "..."):
		return c.flags()
	}
	return nil
}

// choices returns the words that a flag takes, each after a beginning.
func (c completion) choices(flag, beginning string) (words []candidate) {
	if generic, ok := namedFlag(c.command, strings.TrimLeft(flag, "-")).(*cli.GenericFlag); ok {
		if one, ok := generic.Value.(*choice); ok {
			for _, word := range one.words {
				words = append(words, candidate{word: beginning + word})
			}
		}
	}
	return words
}

// fixedWords returns the words themselves that an argument can be, by its name in the usage of a command.
func fixedWords(name string) (words []candidate) {
	for word := range strings.SplitSeq(strings.Trim(name, "[]."), "|") {
		if word == strings.ToLower(word) {
			words = append(words, candidate{word: word})
		}
	}
	return words
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
			words = append(words, candidate{t.name, t.title})
		}
	}
	return startingWith(c.word, words)
}

// flags returns the flags that are not given yet, and those that may be repeated.
func (c completion) flags() []candidate {
	words := []candidate{{"--help", "Show help"}}
	for _, f := range c.command.Flags {
		doc, documented := f.(cli.DocGenerationFlag)
		visible, ok := f.(cli.VisibleFlag)
		if !documented || !ok || !visible.IsVisible() {
			continue
		}
		name := "--" + f.Names()[0]
		given := slices.ContainsFunc(c.before, func(w string) bool { return w == name || strings.HasPrefix(w, name+"=") })
		if _, repeats := f.(*cli.StringSliceFlag); !given || repeats {
			words = append(words, candidate{name, strings.ReplaceAll(doc.GetUsage(), "`", "")})
		}
	}
	return startingWith(c.word, words)
}

func startingWith(prefix string, words []candidate) []candidate {
	return slices.DeleteFunc(words, func(c candidate) bool { return !strings.HasPrefix(c.word, prefix) })
}

// The completion scripts ask furrow for words, and complete names of files where it has none.
const (
	bashCompletion = `_furrow() {
  local found word
  found=$("${1/#\~/$HOME}" ` + completeCommand + ` bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  COMPREPLY=()
  [ -z "$found" ] || while IFS= read -r word; do COMPREPLY+=("$word"); done <<<"$found"
}
complete -o default -F _furrow furrow
`
	zshCompletion = `(( $+functions[compdef] )) || { autoload -U compinit && compinit }
_furrow() {
  local -a found
  local text
  text=$("${(Q)words[1]/#\~/$HOME}" ` + completeCommand + ` zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  if [[ -z $text ]]; then _files; return; fi
  found=("${(@f)text}")
  _describe furrow found
}
compdef _furrow furrow
`
	fishCompletion = `function __furrow_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] ` + completeCommand + ` fish $words[2..-1] 2>/dev/null)
    if test (count $found) = 0
        __fish_complete_path (commandline -ct)
    end
    printf '%s\n' $found
end
complete -c furrow -f -a '(__furrow_complete)'
`
)

func completionCommand() *cli.Command {
	scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return &cli.Command{
		Name:      "completion",
		Usage:     "Generate a shell completion script",
		ArgsUsage: "bash|zsh|fish",
		Description: "The script completes commands, flags, and the words that flags and arguments take. It runs no " +
			"command.\n\nExamples:\n" +
			"  source <(furrow completion bash)                                   in ~/.bashrc\n" +
			"  source <(furrow completion zsh)                                    in ~/.zshrc\n" +
			"  furrow completion fish > ~/.config/fish/completions/furrow.fish",
		Action: func(c *cli.Context) error {
			script := scripts[c.Args().First()]
			if script == "" {
				return usagef(c, "name one shell: bash, zsh or fish")
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}
