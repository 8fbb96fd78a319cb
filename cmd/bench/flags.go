package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

func onlyFlag() cli.Flag {
	return &cli.StringFlag{Name: "only", Usage: "`WORKLOADS` to measure, separated by commas (default: all)"}
}

func furrowFlag() cli.Flag {
	return &cli.StringFlag{Name: "furrow",
		Usage: "`PROGRAM` that serves what the benchmark starts, as of another version (default: built from this module)"}
}

func examples(lines ...string) string {
	return "\n\nExamples:\n  go run ./cmd/bench " + strings.Join(lines, "\n  go run ./cmd/bench ")
}

// settingsOf reads the flags that benchmarks share. Names are those of the workloads.
func settingsOf(c *cli.Context, names []string, mostClients int) (s settings, err error) {
	s = settings{only: words(c.String("only")), length: c.Duration("for"), rounds: c.Int("rounds"),
		clients: c.Int("clients"), out: c.App.Writer, errs: c.App.ErrWriter}
	for _, name := range s.only {
		if !slices.Contains(names, name) {
			return s, usagef("--only: there is no workload %q%s", name, didYouMean(name, names))
		}
	}
	const least = 100 * time.Millisecond
	if c.IsSet("for") && s.length < least {
		return s, usagef("--for is %v; it must be at least %v", s.length, least)
	}
	return s, cmp.Or(between(c, 1, 1000, "rounds"), between(c, 1, mostClients, "clients"))
}

// between reports a flag that is out of bounds.
func between(c *cli.Context, least, most int, flag string) error {
	if n := c.Int(flag); n < least || n > most {
		return usagef("--%s is %d; it must be between %d and %d", flag, n, least, most)
	}
	return nil
}

// words splits a list at its commas, and drops empty words.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func didYouMean(word string, names []string) string {
	if name := setup.Nearest(word, names); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return ""
}

// workloadsText describes workloads for the help text.
func workloadsText[W interface{ workloadOf() workload }](all []W) string {
	width := len(slices.MaxFunc(namesOf(all), func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
	text := "Workloads:"
	for _, w := range all {
		text += fmt.Sprintf("\n  %-*s  %s", width, w.workloadOf().name, w.workloadOf().about)
	}
	return text
}
