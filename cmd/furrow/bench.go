package main

import (
	"cmp"
	"context"

	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/bench"
	"furrow/cmd/internal/process"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:        "bench",
		Usage:       "Run benchmarks",
		Subcommands: []*cli.Command{benchStorageCommand(), benchTokensCommand(), benchFanoutCommand()},
	}
}

// benchFlags belong to both benchmarks.
func benchFlags(flags ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		durationFlag("for", 5*time.Second, 100*time.Millisecond,
			"`DURATION` of each measurement: of each row, on each target, in each round"),
		&cli.IntFlag{Name: "rounds", Value: 1, Usage: "`NUMBER` of rounds; the report shows medians"},
		&cli.IntFlag{Name: "clients", Value: 64, Usage: "`NUMBER` of concurrent clients"},
		&cli.StringFlag{Name: "only", Usage: "`ROWS` to measure, separated by commas (default: all)"},
		jsonFlag(),
	}, flags...)
}

// benchSettings reads the flags that benchmarks share. Names are those of the rows.
func benchSettings(c *cli.Context, names []string, mostClients int) (s bench.Settings, err error) {
	s = bench.Settings{
		Workloads: words(c.String("only")), For: durationOf(c, "for"), Rounds: c.Int("rounds"), Clients: c.Int("clients"),
	}
	for _, name := range s.Workloads {
		if !slices.Contains(names, name) {
			return s, usagef(c, "--only: there is no row %q%s", name, didYouMean(name, names, ""))
		}
	}
	if err := cmp.Or(between(c, 1, 1000, "rounds"), between(c, 1, mostClients, "clients")); err != nil {
		return s, err
	}
	if f, ok := c.App.ErrWriter.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.Progress = func(step string) { fmt.Fprintln(f, step) }
	}
	s.Executable, err = os.Executable()
	return s, err
}

// benchRows describes the rows of a report for the help text.
func benchRows(names, abouts []string) string {
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
		write = func(w io.Writer) error { return writeJSONLine(w, report) }
	}
	return errors.Join(write(c.App.Writer), err)
}

func stopWithInputFlag() cli.Flag {
	return &cli.BoolFlag{Name: process.StopWithInput, Hidden: true}
}

// untilStopped is the command's context. With --stop-with-input it ends with standard input and
// ignores signals.
func untilStopped(c *cli.Context) (context.Context, context.CancelFunc) {
	if !c.Bool(process.StopWithInput) {
		return context.WithCancel(c.Context)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context))
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, c.App.Reader) // an error ends it, too
	}()
	return ctx, stop
}
