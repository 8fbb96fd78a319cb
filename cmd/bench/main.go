// Command bench measures what Furrow does with a machine: storage, and whole runs of a fleet. It is no part of furrow,
// and starts that as its own users do:
//
//	go run ./cmd/bench fanout --target embedded --only idle,active
//	go run ./cmd/bench storage --furrow /usr/local/bin/furrow
//
// It prints a line for each measurement in each round, as go test -bench does, and benchstat summarizes and compares
// them. Many clients work at a time, with Azure's own SDKs, over connections that stay open. Targets take turns, so
// that other load on the machine affects all of them alike.
//
// The exit code is 0 if all was measured, 1 if something failed, and 2 if the command line was invalid.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/urfave/cli/v2"
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name:                      "bench",
		Usage:                     "measure storage and runs of a fleet",
		Commands:                  []*cli.Command{storageCommand(), fanoutCommand()},
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true, // a connection string is one value
		Writer:                    stdout,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides on exit codes
		OnUsageError:              refuseFlag,
		Action:                    refuseWords,
	}
	for _, c := range app.Commands {
		measure := c.Action
		c.OnUsageError, c.HideHelpCommand = refuseFlag, true
		c.Action = func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("bench %s takes no arguments; %q is one", c.Command.Name, c.Args().First())
			}
			return measure(c)
		}
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

func refuseFlag(_ *cli.Context, err error, _ bool) error { return usagef("%v", err) }

func refuseWords(c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return usagef("there is no benchmark %q%s", word, didYouMean(word, []string{"storage", "fanout"}))
	}
	return cli.ShowAppHelp(c)
}

// withFurrow calls measure with the furrow program that serves what is measured: that of --furrow, or one that is built
// for the benchmark.
func withFurrow(c *cli.Context, measure func(executable string) error) (err error) {
	if given := c.String("furrow"); given != "" {
		found, err := exec.LookPath(given)
		if err != nil {
			return usagef("--furrow: %v", err)
		}
		return measure(found)
	}
	folder, err := os.MkdirTemp("", "furrow-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	built := filepath.Join(folder, "furrow")
	if runtime.GOOS == "windows" {
		built += ".exe"
	}
	build := exec.CommandContext(c.Context, "go", "build", "-o", built, "furrow/cmd/furrow")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building furrow failed (--furrow FILE names one that is built): %w\n%s", err, out)
	}
	return measure(built)
}
