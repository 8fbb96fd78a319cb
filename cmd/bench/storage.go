package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/bench"
	"furrow/cmd/internal/setup"
)

const storageHelp = `Measures tables, queues and blobs of one or more targets. A target is one of
  local               furrow storage, started for the benchmark in a process of its own
  CONNECTION-STRING   such as UseDevelopmentStorage=true
  env:NAME            an environment variable that holds a connection string
  null                a service that does nothing, for insert: what HTTP and the client cost
and may have a name before it: azurite=UseDevelopmentStorage=true.
Everything that the benchmark creates has a random name and is deleted at the end and on Ctrl-C.

`

func storageCommand() *cli.Command {
	return &cli.Command{
		Name:  "storage",
		Usage: "Measure tables, queues and blobs of one or more targets",
		Description: storageHelp + rowsText(bench.Names()) +
			examples(
				"storage",
				"storage --target local --target azurite=UseDevelopmentStorage=true --rounds 3",
				"storage --only insert --target local --target null",
				"storage --target env:AZURE_STORAGE_CONNECTION_STRING --for 10s --json"),
		Flags: sharedFlags(
			&cli.StringSliceFlag{Name: "target", Value: cli.NewStringSlice(bench.Local),
				Usage: "`TARGET` to measure; repeat it to compare"},
			&cli.IntFlag{Name: "size", Value: 250, Usage: "`BYTES` of an entity's JSON, and of a message"},
			&cli.StringFlag{Name: "rows", Value: "10000",
				Usage: "`NUMBER` of rows in the tables that are read, or several, separated by commas"},
			&cli.StringFlag{Name: "ca", Usage: "PEM `FILE` of certificates to trust besides the system's"},
		),
		Action: storage,
	}
}

func storage(c *cli.Context) error {
	cfg, err := storageConfig(c)
	if err != nil {
		return err
	}
	return withFurrow(c, func(executable string) error {
		cfg.Executable = executable
		report, err := bench.Run(c.Context, cfg)
		return printReport(c, report, err)
	})
}

func storageConfig(c *cli.Context) (cfg bench.Config, err error) {
	names, _ := bench.Names()
	if cfg.Settings, err = settingsOf(c, names, 10_000); err != nil {
		return cfg, err
	}
	cfg.Size = c.Int("size")
	if err := between(c, bench.MinSize, bench.MaxSize, "size"); err != nil {
		return cfg, err
	}
	if cfg.Targets, err = bench.ParseTargets(c.StringSlice("target")); err != nil {
		return cfg, usagef("--target: %v", err)
	}
	if cfg.TableRows, err = tableRows(c.String("rows")); err != nil {
		return cfg, usagef("--rows: %v", err)
	}
	if cfg.HTTP, err = setup.Transport(c.String("ca")); err != nil {
		return cfg, usagef("--ca: %v", err)
	}
	return cfg, nil
}

// tableRows parses sizes such as "10000,1000000". Each must be a multiple of 100,
// so that every range of a hundred rows is full.
func tableRows(list string) ([]int, error) {
	var sizes []int
	for _, word := range words(list) {
		n, err := strconv.Atoi(strings.ReplaceAll(word, "_", ""))
		if err != nil || n < 100 || n%100 != 0 {
			return nil, fmt.Errorf("%q is not a multiple of 100, such as 10000", word)
		}
		if slices.Contains(sizes, n) {
			return nil, fmt.Errorf("%d is given twice", n)
		}
		sizes = append(sizes, n)
	}
	if len(sizes) == 0 {
		return nil, errors.New("no size is given")
	}
	return sizes, nil
}
