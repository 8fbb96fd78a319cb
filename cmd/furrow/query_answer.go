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

	"furrow/worker/answers"
	"furrow/worker/query"
)

func formatFlag() cli.Flag {
	formats := []string{string(answers.Table), string(answers.CSV), string(answers.JSONL)}
	f := choiceFlag("format", "table on a terminal, otherwise csv", formats, "`FORMAT` of the output: table, csv or jsonl")
	f.Action = func(c *cli.Context, _ any) error {
		if c.Bool("json") {
			return usagef(c, "--json and --format exclude each other")
		}
		return nil
	}
	return f
}

func limitFlag(usage string) cli.Flag {
	return &cli.IntFlag{Name: "limit", DefaultText: "all", Usage: usage, Action: func(c *cli.Context, limit int) error {
		if limit < 1 {
			return usagef(c, "--limit is %d; it must be at least 1", limit)
		}
		return nil
	}}
}

// answer prints rows, and reports rows that cannot be read on standard error. Without rows it prints empty, or
// fails with its error.
// An answer that is cut short by Ctrl-C or by the reader of a pipe is no failure; one with gaps is.
func answer[R any](c *cli.Context, found iter.Seq2[R, error], empty func() (string, error)) error {
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
	_, err := answers.Write(c.App.Writer, formatOf(c), orEmpty)
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

func formatOf(c *cli.Context) answers.Format {
	if format := c.String("format"); format != "" {
		return answers.Format(format)
	}
	if c.Bool("json") {
		return answers.JSONL
	}
	if f, ok := c.App.Writer.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return answers.Table
	}
	return answers.CSV
}

func textOf[T fmt.Stringer](things []T) string {
	var texts []string
	for _, t := range things {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ", ")
}
