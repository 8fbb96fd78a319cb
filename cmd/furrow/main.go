// Command furrow is the single binary of Furrow: the roles of a fleet's back end, and commands to operate, show
// and measure them. Each subcommand has its own files here, which read flags and print; the packages that they
// call do the work.
//
// The exit code is 0 if the command succeeded, or if it serves and was told to stop, 1 if something failed, and 2 if
// the command line was invalid. That of import, copy, backup, restore and archive is 130 if they were told to stop
// before their end. That of verify is 1 if something differs that nothing explains, and 4 if it could not look at
// everything.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"
	_ "golang.org/x/crypto/x509roots/fallback" // certificate authorities, for a system that has none
)

func main() {
	cli.HelpPrinter = printHelp
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
