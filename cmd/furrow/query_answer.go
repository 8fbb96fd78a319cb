package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/records"
	"furrow/worker/query"
)

func formatFlag() cli.Flag {
	return choiceFlag("format", "table on a terminal, otherwise csv", records.Formats(),
		"`FORMAT` of the output: table, csv or jsonl")
}

// checkAnswer checks --json and --limit.
func checkAnswer(c *cli.Context) error {
	switch {
	case c.IsSet("limit") && c.Int("limit") < 1:
		return usagef(c, "--limit is %d; it must be at least 1", c.Int("limit"))
	case c.Bool("json") && c.IsSet("format"):
		return usagef(c, "--json and --format exclude each other")
	}
	return nil
}

// answer prints records, and reports rows that cannot be read on standard error. Without records it prints empty, or
// fails with its error.
// An answer that is cut short by Ctrl-C or by the reader of a pipe is no failure; one with gaps is.
func answer[R records.Record](c *cli.Context, found iter.Seq2[R, error], empty func() (string, error)) error {
	var skipped query.Skipped
	none := ""
	orEmpty := func(yield func(R, error) bool) {
		any := false
		for r, err := range query.Readable(found, &skipped) {
			if any = true; !yield(r, err) {
				return
			}
		}
		if any || skipped.N > 0 || c.Context.Err() != nil {
			return
		}
		var r R
		var err error
		if none, err = empty(); err != nil {
			yield(r, err)
		}
	}
	_, err := records.Write(c.App.Writer, formatOf(c), orEmpty)
	switch {
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		return nil
	case c.Context.Err() != nil:
		fmt.Fprintln(c.App.ErrWriter, "furrow: stopped before the end of the answer")
		return nil
	case err == nil && none != "":
		fmt.Fprintf(c.App.ErrWriter, "furrow: %s\n", none)
	}
	return cmp.Or(err, unreadable(c, skipped))
}

// recordsOf yields records that were read, and then the error that ended it.
func recordsOf[R any](all []R, err error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			var none R
			yield(none, err)
		}
	}
}

// unreadable reports rows that cannot be read, and returns an error if there are any.
func unreadable(c *cli.Context, s query.Skipped) error {
	for _, err := range s.First {
		fmt.Fprintf(c.App.ErrWriter, "furrow: %v\n", err)
	}
	if s.N == 0 {
		return nil
	}
	return fmt.Errorf("the answer is incomplete: rows or properties that cannot be read: %d", s.N)
}

func formatOf(c *cli.Context) records.Format {
	if format := c.String("format"); format != "" {
		return records.Format(format)
	}
	if c.Bool("json") {
		return records.JSONL
	}
	if f, ok := c.App.Writer.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return records.Table
	}
	return records.CSV
}

func textOf[T fmt.Stringer](things []T) string {
	var texts []string
	for _, t := range things {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ", ")
}
