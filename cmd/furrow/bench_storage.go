package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/bench"
)

func benchStorageCommand() *cli.Command {
	return &cli.Command{
		Name:        "storage",
		Usage:       "measure tables, queues and blobs of one or more endpoints",
		Description: benchStorageHelp(),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "target", Value: cli.NewStringSlice(bench.Local), Usage: "endpoint to measure; repeat it to compare"},
			&cli.DurationFlag{Name: "for", Value: 5 * time.Second, Usage: "how long each row is measured, on each endpoint, in each round"},
			&cli.IntFlag{Name: "rounds", Value: 1, Usage: "how often; the report shows medians"},
			&cli.IntFlag{Name: "clients", Value: 64, Usage: "how many work at the same time"},
			&cli.IntFlag{Name: "size", Value: 250, Usage: "`BYTES` of an entity's JSON, and of a message"},
			&cli.StringFlag{Name: "only", Usage: "the `ROWS` to measure, separated by commas (default: all)"},
			&cli.StringFlag{Name: "rows", Value: "10000", Usage: "`NUMBER` of rows in the tables that are read; several, separated by commas, are read in turn"},
			&cli.StringFlag{Name: "ca", Usage: "PEM `FILE` of certificates to trust, for https with a private authority"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON"},
		},
		Action: benchStorage,
	}
}

func benchStorageHelp() string {
	text := "An endpoint is one of\n" +
		"  local               furrow storage, started for this in a process of its own\n" +
		"  null                a server that answers 204 to everything: the ceiling for inserts\n" +
		"  CONNECTION-STRING   e.g. UseDevelopmentStorage=true\n" +
		"  env:NAME            a connection string that an environment variable holds\n" +
		"and may have a name before it: azurite=UseDevelopmentStorage=true.\n" +
		"What is made there has a random name, and is deleted at the end and on Ctrl-C.\n\n" +
		"The rows are\n"
	names, abouts := bench.Names()
	for i := range names {
		text += fmt.Sprintf("  %-12s  %s\n", names[i], abouts[i])
	}
	return strings.TrimSpace(text)
}

func benchStorage(c *cli.Context) error {
	cfg, err := benchConfig(c)
	if err != nil {
		return err
	}
	report, err := bench.Run(c.Context, cfg)
	if len(report.Rows) > 0 {
		write := report.WriteText
		if c.Bool("json") {
			write = func(w io.Writer) error { return writeJSON(w, report) }
		}
		err = errors.Join(write(c.App.Writer), err)
	}
	return err
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// benchConfig reads the flags, and refuses what cannot be measured.
func benchConfig(c *cli.Context) (bench.Config, error) {
	cfg := bench.Config{
		Workloads: words(c.String("only")), For: c.Duration("for"),
		Rounds: c.Int("rounds"), Clients: c.Int("clients"), Size: c.Int("size"),
	}
	var err error
	if cfg.Targets, err = bench.ParseTargets(c.StringSlice("target")); err != nil {
		return cfg, usagef(c, "--target: %v", err)
	}
	if cfg.TableRows, err = tableRows(c.String("rows")); err != nil {
		return cfg, usagef(c, "--rows: %v", err)
	}
	names, _ := bench.Names()
	for _, name := range cfg.Workloads {
		if !slices.Contains(names, name) {
			return cfg, usagef(c, "--only: there is no row %q%s", name, didYouMean(name, names, ""))
		}
	}
	switch {
	case cfg.For < 100*time.Millisecond:
		return cfg, usagef(c, "--for is %v; it takes at least 100ms to measure anything", cfg.For)
	case cfg.Rounds < 1:
		return cfg, usagef(c, "--rounds is %d; it must be at least 1", cfg.Rounds)
	case cfg.Clients < 1 || cfg.Clients > 10_000:
		return cfg, usagef(c, "--clients is %d; it must be between 1 and 10000", cfg.Clients)
	case cfg.Size < bench.MinSize || cfg.Size > bench.MaxSize:
		return cfg, usagef(c, "--size is %d; it must be between %d and %d bytes", cfg.Size, bench.MinSize, bench.MaxSize)
	}
	if cfg.Transport, err = bench.NewTransport(c.String("ca")); err != nil {
		return cfg, usagef(c, "--ca: %v", err)
	}
	if cfg.Executable, err = os.Executable(); err != nil {
		return cfg, err
	}
	if f, ok := c.App.ErrWriter.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		cfg.Progress = f
	}
	return cfg, nil
}

// tableRows reads sizes such as "10000,1000000". Each must be full hundreds, so
// that every range of a hundred is full.
func tableRows(list string) ([]int, error) {
	var sizes []int
	for _, word := range words(list) {
		n, err := strconv.Atoi(strings.ReplaceAll(word, "_", ""))
		if err != nil || n < 100 || n%100 != 0 {
			return nil, fmt.Errorf("%q is not a multiple of 100, such as 10000", word)
		}
		if slices.Contains(sizes, n) {
			return nil, fmt.Errorf("%d is there twice", n)
		}
		sizes = append(sizes, n)
	}
	if len(sizes) == 0 {
		return nil, errors.New("no size is given")
	}
	return sizes, nil
}
