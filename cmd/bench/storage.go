package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"
)

const storageHelp = `Measures tables, queues and blobs of one or more targets. A target is one of
  local               furrow storage, started for the benchmark in a process of its own
  CONNECTION-STRING   such as UseDevelopmentStorage=true
  env:NAME            an environment variable that holds a connection string
and may have a name before it: azurite=UseDevelopmentStorage=true.
Everything that the benchmark creates has a random name and is deleted at the end and on Ctrl-C.

`

func storageCommand() *cli.Command {
	return &cli.Command{
		Name:  "storage",
		Usage: "Measure tables, queues and blobs of one or more targets",
		Description: storageHelp + workloadsText(storageWorkloads()) +
			examples(
				"storage",
				"storage --target local --target azurite=UseDevelopmentStorage=true --rounds 10",
				"storage --target env:AZURE_STORAGE_CONNECTION_STRING --for 10s"),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "target", Value: cli.NewStringSlice(localTarget),
				Usage: "`TARGET` to measure; repeat it to compare"},
			&cli.IntFlag{Name: "rows", Value: 10_000, Usage: "`NUMBER` of rows in the table that is read"},
			&cli.DurationFlag{Name: "for", Value: 5 * time.Second,
				Usage: "`DURATION` of each measurement: of each workload, on each target, in each round"},
			&cli.IntFlag{Name: "rounds", Value: 1, Usage: "`NUMBER` of rounds"},
			&cli.IntFlag{Name: "clients", Value: 64, Usage: "`NUMBER` of concurrent clients"},
			onlyFlag(), furrowFlag(),
		},
		Action: storage,
	}
}

func storage(c *cli.Context) error {
	s, err := settingsOf(c, namesOf(storageWorkloads()), 10_000)
	if err != nil {
		return err
	}
	if err := between(c, perRange, 100_000_000, "rows"); err != nil {
		return err
	}
	targets, err := parseTargets(c.StringSlice("target"))
	if err != nil {
		return usagef("--target: %v", err)
	}
	return withFurrow(c, func(executable string) (err error) {
		s.executable = executable
		ends, err := s.openAll(c.Context, targets, c.Int("rows"))
		defer func() { err = errors.Join(err, s.closeAll(c.Context, ends)) }()
		if err != nil {
			return err
		}
		tasks, err := s.prepare(c.Context, ends)
		if err != nil {
			return err
		}
		return s.measure(c.Context, "Storage", tasks)
	})
}

// A storageWorkload is one kind of request to storage.
type storageWorkload struct {
	workload
	prepare func(ctx context.Context, e *endpoint) (operation, error)
}

func storageWorkloads() []storageWorkload {
	return []storageWorkload{inserts(), transactions(), gets(), ranges(), emptyRanges(), messages(), blocks()}
}

// prepare creates what the workloads work on, before anything is measured.
func (s settings) prepare(ctx context.Context, ends []*endpoint) (tasks []task, err error) {
	for _, w := range storageWorkloads() {
		if !s.wants(w.name) {
			continue
		}
		for _, e := range ends {
			t := task{workload: w.workload, target: e.name}
			if t.do, err = w.prepare(ctx, e); err != nil {
				return nil, fmt.Errorf("%s: preparing %s: %w", e.name, w.name, brief(err))
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}
