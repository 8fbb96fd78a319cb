package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/query"
)

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", DefaultText: "table on a terminal, otherwise csv", Usage: "table, csv or jsonl"}
}

// checkAnswer refuses what no answer can be written by.
func checkAnswer(c *cli.Context) error {
	format := c.String("format")
	switch {
	case format != "" && !slices.Contains(query.Formats(), format):
		return usagef(c, "--format is %q; it takes %s%s", format, strings.Join(query.Formats(), ", "), didYouMean(format, query.Formats(), ""))
	case c.IsSet("limit") && c.Int("limit") < 1:
		return usagef(c, "--limit is %d; it must be at least 1", c.Int("limit"))
	}
	return nil
}

// answer prints records. Where there are none, empty says so. An answer that is
// not wanted to its end, by Ctrl-C or by the reader of a pipe, is no failure.
func answer(c *cli.Context, example query.Record, records iter.Seq2[query.Record, error], empty func() string) error {
	n, err := query.Write(c.App.Writer, formatOf(c), example, records)
	switch {
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		return nil
	case c.Context.Err() != nil:
		fmt.Fprintln(c.App.ErrWriter, "furrow: stopped before the end of the answer")
		return nil
	case err == nil && n == 0:
		fmt.Fprintf(c.App.ErrWriter, "furrow: %s\n", empty())
	}
	return err
}

func formatOf(c *cli.Context) query.Format {
	if format := c.String("format"); format != "" {
		return query.Format(format)
	}
	if f, ok := c.App.Writer.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return query.Table
	}
	return query.CSV
}

func textOf[T fmt.Stringer](things []T) string {
	var texts []string
	for _, t := range things {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ", ")
}
