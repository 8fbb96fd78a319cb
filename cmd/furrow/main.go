// Command furrow is the one binary: every role of a fleet's back end, what operates
// them, and what shows and measures them. Every subcommand has files of its own here,
// which read flags and print; what it starts lives in the packages it calls.
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
