package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"
)

// fanoutSettings say which fleet is run.
type fanoutSettings struct {
	only    []string // names of the workloads to run; empty: all
	rounds  int
	clients int       // jobs at a time
	out     io.Writer // for lines
	devices int
	batch   int // devices of a message
	tenants int // that the devices belong to, in turn
	months  int // of deployment, in turn
	rows    int // of each device that are behind, in the workload backlog
	history int // days of hourly rows that each device has when measuring begins
}

var errInterrupted = errors.New("interrupted: the lines show what was measured until then")

func (s fanoutSettings) wants(name string) bool {
	return len(s.only) == 0 || slices.Contains(s.only, name)
}

func measureFanout(c *cli.Context) (err error) {
	if c.Args().Present() {
		return usagef("bench takes no arguments; %q is one", c.Args().First())
	}
	s := fanoutSettings{only: words(c.String("only")), rounds: c.Int("rounds"), clients: c.Int("clients"),
		out: c.App.Writer, devices: c.Int("devices"), batch: c.Int("batch"), tenants: c.Int("tenants"),
		months: c.Int("months"), rows: c.Int("rows"), history: c.Int("history")}
	for _, name := range s.only {
		if !slices.ContainsFunc(fanouts(), func(w fanout) bool { return w.name == name }) {
			return usagef("--only: there is no workload %q", name)
		}
	}
	if err := cmp.Or(between(c, 1, 1000, "rounds"), between(c, 1, 1000, "clients"), between(c, 1, 1_000_000, "devices"),
		between(c, 1, 99, "batch"), between(c, 1, s.devices, "tenants"), between(c, 1, 1200, "months"),
		between(c, 1, 10_000, "rows"), between(c, 0, 3660, "history")); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as furrow worker does
	}
	storage, err := openFanoutStorage(c.String("storage"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage.close()) }()
	return storage.while(c.Context, func(ctx context.Context) error { return s.run(ctx, storage) })
}

// A figure is a number of a line, with its unit.
type figure struct {
	value float64
	unit  string
}

// printLine prints figures as go test -bench does, for benchstat.
func printLine(w io.Writer, name string, n int, figures ...figure) error {
	line := fmt.Sprintf("Benchmark%s-%d\t%d", name, runtime.NumCPU(), n)
	for _, f := range figures {
		digits := 0
		if f.value < 1000 {
			digits = 4
		}
		line += fmt.Sprintf("\t%.*f %s", digits, f.value, f.unit)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
