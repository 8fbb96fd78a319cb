package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// The completion scripts ask furrow for words, and complete names of files where it exits with exitFiles. Bash before
// version 4 has no compopt, and then offers files wherever furrow finds no word.
const (
	bashCompletion = `_furrow() {
  local found word
  found=$("${1/#\~/$HOME}" ` + completeCommand + ` bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
  [ $? = 3 ] || compopt +o default 2>/dev/null
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
  if (( $? == 3 )); then _files; return; fi
  found=("${(@f)text}")
  [[ -n $text ]] && _describe furrow found
}
compdef _furrow furrow
`
	fishCompletion = `function __furrow_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] ` + completeCommand + ` fish $words[2..-1] 2>/dev/null)
    if test $status = 3
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
		Description: "The script completes commands, flags, devices, tenants, sensors and other names. It reads storage " +
			"for them, " +
			"and\nruns no command.\n\nExamples:\n" +
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

// shellOf reads what the script of a shell passes on: the words of the command line up to the cursor. It also returns
// how the shell wants a candidate to be written. print is nil for an unknown shell.
func shellOf(shell string, args []string) (typed []string, print func(candidate) string) {
	switch shell {
	case "bash":
		if len(args) != 2 {
			return nil, nil
		}
		line := splitLine(args[0])
		return line.words[1:], func(c candidate) string { return line.rest(c.word, args[1]) }
	case "zsh": // a colon separates the word from the text
		return args, func(c candidate) string {
			word := strings.ReplaceAll(c.word, ":", `\:`)
			if c.about == "" {
				return word
			}
			return word + ":" + c.about
		}
	case "fish":
		return args, func(c candidate) string { return strings.TrimSuffix(c.word+"\t"+c.about, "\t") }
	}
	return nil, nil
}
