// Command furrow is the one binary: storage on one machine, and the bench that
// measures any storage endpoint. Every subcommand has a file of its own here,
// which reads flags and prints; what it starts lives in the packages it calls.
//
// It exits with 0 when it did what was asked or was told to stop, with 1 when
// something failed, and with 2 when the command line was wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
