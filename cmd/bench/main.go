// Command bench measures whole runs of a fleet. It is no part of furrow:
//
//	go run ./cmd/bench --only idle,active --devices 10000
//
// It prints a line for each measurement in each round, as go test -bench does, and benchstat summarizes and compares
// them.
//
// The exit code is 0 if all was measured, 1 if something failed, and 2 if the command line was invalid.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"furrow/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

// A usageError says that the command line is invalid.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

const help = `Measures whole runs of a fleet, from the master job in the queue to the last commit: devices and rows a
second, CPU time, storage operations, and what they cost on Azure. One worker in this process does the jobs. Without
--storage, storage is in this process, too, as furrow up has it. Otherwise the requests of each run go once more, in the
same sizes, to a service that does nothing: wire-cpu-ns is the CPU time of both ends, the least that HTTP costs. Devices
a second are until none waits for its first look, rows a second until all are folded or archived. Each run begins when
storage in this process is at rest: after new rows that reorganizes its files, after a long --history for minutes. What
is created has a random name and is deleted at the end.

Workloads:`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name:        "bench",
		Usage:       "measure runs of a fleet: devices a second, operations, cost",
		Description: help + workloadsText(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "storage", Usage: "Storage `WHERE`, as for furrow (default: in this process)"},
			&cli.IntFlag{Name: "devices", Value: 2000, Usage: "`NUMBER` of devices"},
			&cli.IntFlag{Name: "batch", Value: 50, Usage: "`NUMBER` of devices in a message"},
			&cli.IntFlag{Name: "tenants", Value: 1, Usage: "`NUMBER` of tenants that the devices belong to in turn"},
			&cli.IntFlag{Name: "months", Value: 1, Usage: "`NUMBER` of months of deployment that they are in, in turn"},
			&cli.IntFlag{Name: "rows", Value: 100, Usage: "`NUMBER` of new rows of a device in the workload backlog"},
			&cli.IntFlag{Name: "history", Usage: "`DAYS` of hourly rows that each device has when measuring begins"},
			&cli.IntFlag{Name: "clients", Value: worker.DefaultSize, Usage: "`NUMBER` of jobs at a time"},
			&cli.IntFlag{Name: "rounds", Value: 3, Usage: "`NUMBER` of runs of each workload"},
			&cli.StringFlag{Name: "only", Usage: "`WORKLOADS` to measure, separated by commas (default: all)"},
		},
		HideHelpCommand: true,
		Writer:          stdout,
		ErrWriter:       stderr,
		ExitErrHandler:  func(*cli.Context, error) {}, // run decides on exit codes
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return usagef("%v", err) },
		Action:          measureFanout,
	}
	err := app.RunContext(ctx, args)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "bench: %v\n", err)
	if _, is := errors.AsType[usageError](err); is {
		return 2
	}
	return 1
}

// workloadsText describes the workloads for the help text.
func workloadsText() (text string) {
	for _, w := range fanouts() {
		text += fmt.Sprintf("\n  %-7s  %s", w.name, w.about)
	}
	return text
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
