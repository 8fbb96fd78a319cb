package main

import (
	"context"
	"io"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/bench"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:        "bench",
		Usage:       "measure what this machine, or an account, can do",
		Subcommands: []*cli.Command{benchStorageCommand(), benchTokensCommand(), benchNullCommand()},
	}
}

// benchNullCommand is the ceiling that benches compare with, in a process of its own.
func benchNullCommand() *cli.Command {
	return &cli.Command{
		Name:   bench.Null,
		Hidden: true,
		Flags:  []cli.Flag{stopWithInputFlag()},
		Action: func(c *cli.Context) error {
			ctx, stop := untilStopped(c)
			defer stop()
			return bench.ServeNull(ctx, c.App.Writer)
		},
	}
}

func stopWithInputFlag() cli.Flag {
	return &cli.BoolFlag{Name: bench.StopWithInput, Hidden: true}
}

// untilStopped is the command's context. With --stop-with-input it ends with
// standard input instead of with a signal: then the parent process decides.
func untilStopped(c *cli.Context) (context.Context, context.CancelFunc) {
	if !c.Bool(bench.StopWithInput) {
		return context.WithCancel(c.Context)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context))
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, c.App.Reader) // an error is an end, too
	}()
	return ctx, stop
}
