package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// completing, as the last word of a command line, makes the library list the words that could stand there.
const completing = "--generate-bash-completion"

// bashCompletion asks furrow for the next words. It passes on a word that begins with a dash, because furrow
// lists flags only after one.
const bashCompletion = `_furrow() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  case "$cur" in -*) words+=("$cur") ;; esac
  COMPREPLY=($(compgen -W "$("${words[@]}" ` + completing + ` 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _furrow furrow
`

func completionCommand() *cli.Command {
	scripts := map[string]func(*cli.Context) (string, error){
		"bash": func(*cli.Context) (string, error) { return bashCompletion, nil },
		"zsh": func(*cli.Context) (string, error) {
			return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bashCompletion, nil
		},
		"fish": func(c *cli.Context) (string, error) { return c.App.ToFishCompletion() },
	}
	return &cli.Command{
		Name:      "completion",
		Usage:     "Generate a shell completion script",
		ArgsUsage: "bash|zsh|fish",
		Description: "Examples:\n" +
			"  source <(furrow completion bash)                                   in ~/.bashrc\n" +
			"  source <(furrow completion zsh)                                    in ~/.zshrc\n" +
			"  furrow completion fish > ~/.config/fish/completions/furrow.fish",
		Action: func(c *cli.Context) error {
			script := scripts[c.Args().First()]
			if script == nil || c.NArg() != 1 {
				return usagef(c, "name one shell: bash, zsh or fish")
			}
			text, err := script(c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.App.Writer, strings.TrimSpace(text))
			return err
		},
	}
}
