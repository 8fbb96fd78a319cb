package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"furrow/cmd/internal/process"

	"github.com/urfave/cli/v2"
)

// The exit codes are documented in the package comment and the reference.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitBlind  = 4 // of verify: it could not look

	exitStopped = 130 // a command that works on something was told to stop before its end
)

// A blindError says that a command that verifies could not look at everything.
type blindError struct{ error }

func (e *blindError) Unwrap() error { return e.error }

// run runs a command line and returns the exit code. args[0] is the program's name, and ctx ends when the program
// is told to stop.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if slices.Contains(args, "--"+process.StopWithInput) {
		var stop context.CancelFunc
		ctx, stop = withInput(ctx, stdin)
		defer stop()
	}
	app := newApp(stdin, stdout, stderr)
	if logsJSON(app.Commands, args) {
		stderr = jsonWriter{stderr}
		app.ErrWriter = stderr
	}
	if len(args) > 1 && args[1] == completeCommand {
		return complete(app, args[2:])
	}
	err := withAuthorityAdvice(dispatch(ctx, args, app))
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "furrow: %v\n", err)
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "Run '%s --help' for what it takes.\n", usage.command)
		return exitUsage
	}
	if _, ok := errors.AsType[*interruptedError](err); ok {
		return exitStopped
	}
	if _, ok := errors.AsType[*blindError](err); ok {
		return exitBlind
	}
	return exitFailed
}

// withInput returns a context that ends with standard input, whatever signals come.
func withInput(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, stdin) // an error ends it, too
	}()
	return ctx, stop
}

// dispatch prints a topic of the help, or runs a command.
func dispatch(ctx context.Context, args []string, app *cli.App) error {
	if text, asked := topicAsked(args); asked {
		_, err := io.WriteString(app.Writer, text)
		return err
	}
	args = flagsFirst(app.Commands, helpAsFlag(args))
	if err := checkOneStorage(app.Commands, args); err != nil {
		return err
	}
	return app.RunContext(ctx, args)
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:        "furrow",
		Usage:       "a back end for device fleets on cloud storage",
		UsageText:   "furrow COMMAND [options]",
		Description: "Run 'furrow COMMAND --help' for the flags of a command, with examples.\n\n" + topicList(),
		Commands: []*cli.Command{upCommand(), demoCommand(), storageCommand(), simulateCommand(), queryCommand(),
			rejectsCommand(), dashboardCommand(), configCommand(), modelCommand(), ruleCommand(),
			scheduleCommand(), workerCommand(), statusCommand(),
			jobsCommand(), enrollmentCommand(), deviceCommand(), importCommand(),
			tokenCommand(), sasCommand(), rewindCommand(),
			auditCommand(), retentionCommand(), accessCommand(), activityCommand(), deployCommand(),
			incidentCommand(), muteCommand(), notifyCommand(), archiveCommand(), commandCommand(), verifyCommand(),
			healthCommand(), backupCommand(), restoreCommand(), copyCommand(), estimateCommand(), costCommand(),
			completionCommand(), versionCommand()},
		Version:                   readVersion().Version,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true, // a connection string is one value
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides on exit codes
		OnUsageError:              flagError,
		Action:                    unknownCommand,
	}
	for _, c := range app.Commands {
		strict(c)
	}
	return app
}

// strict makes a command and its subcommands refuse unknown words, and arguments that its ArgsUsage does not have.
func strict(c *cli.Command) {
	c.Description = strings.TrimSpace(c.Description)
	c.HideHelpCommand = true
	c.OnUsageError = flagError
	c.Before = warnOfPlainSecrets
	for _, sub := range c.Subcommands {
		strict(sub)
	}
	action := c.Action
	if action == nil {
		c.Action = unknownCommand
		return
	}
	c.Action = func(c *cli.Context) error {
		if err := checkArguments(c); err != nil {
			return err
		}
		return action(c)
	}
}

// helpAsFlag turns "furrow help storage" into "furrow storage --help".
func helpAsFlag(args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
	}
	asked := append([]string{args[0]}, args[2:]...)
	return append(asked, "--help")
}
