package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/lab/bench"
	"furrow/cmd/internal/setup"
)

// sharedFlags belong to the benchmarks of storage and of tokens.
func sharedFlags(flags ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.DurationFlag{Name: "for", Value: 5 * time.Second,
			Usage: "`DURATION` of each measurement: of each row, on each target, in each round"},
		&cli.IntFlag{Name: "rounds", Value: 1, Usage: "`NUMBER` of rounds; the report shows medians"},
		&cli.IntFlag{Name: "clients", Value: 64, Usage: "`NUMBER` of concurrent clients"},
		&cli.StringFlag{Name: "only", Usage: "`ROWS` to measure, separated by commas (default: all)"},
		furrowFlag(), jsonFlag(),
	}, flags...)
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "Print JSON, one object"} }

func furrowFlag() cli.Flag {
	return &cli.StringFlag{Name: "furrow",
		Usage: "`PROGRAM` that serves what the benchmark starts, as of another version (default: built from this module)"}
}

func examples(lines ...string) string {
	return "\n\nExamples:\n  go run ./cmd/bench " + strings.Join(lines, "\n  go run ./cmd/bench ")
}

// settingsOf reads the flags that benchmarks share. Names are those of the rows.
func settingsOf(c *cli.Context, names []string, mostClients int) (s bench.Settings, err error) {
	s = bench.Settings{
		Workloads: words(c.String("only")), For: c.Duration("for"), Rounds: c.Int("rounds"), Clients: c.Int("clients"),
	}
	for _, name := range s.Workloads {
		if !slices.Contains(names, name) {
			return s, usagef("--only: there is no row %q%s", name, didYouMean(name, names))
		}
	}
	const least = 100 * time.Millisecond
	if c.IsSet("for") && s.For < least {
		return s, usagef("--for is %v; it must be at least %v", s.For, least)
	}
	if err := cmp.Or(between(c, 1, 1000, "rounds"), between(c, 1, mostClients, "clients")); err != nil {
		return s, err
	}
	if f, ok := c.App.ErrWriter.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Progress = func(step string) { fmt.Fprintln(f, step) }
	}
	return s, nil
}

// between reports a flag that is out of bounds.
func between(c *cli.Context, least, most int, flags ...string) error {
	for _, flag := range flags {
		if n := c.Int(flag); n < least || n > most {
			return usagef("--%s is %d; it must be between %d and %d", flag, n, least, most)
		}
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

// rowsText describes the rows of a report for the help text.
func rowsText(names, abouts []string) string {
	var text strings.Builder
	text.WriteString("Rows:\n")
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for i, name := range names {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, name, abouts[i])
	}
	return strings.TrimSpace(text.String())
}

// printReport prints what was measured, also of a benchmark that failed or was interrupted.
func printReport(c *cli.Context, report *bench.Report, err error) error {
	if len(report.Rows)+len(report.Storms) == 0 {
		return err
	}
	write := report.WriteText
	if c.Bool("json") {
		write = asJSON(report)
	}
	return errors.Join(write(c.App.Writer), err)
}

func asJSON(report any) func(io.Writer) error {
	return func(w io.Writer) error { return json.NewEncoder(w).Encode(report) }
}
