package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// A usageError is an invalid command line. The program exits with exitUsage.
type usageError struct {
	command string // whose help to read
	text    string
}

func (e *usageError) Error() string { return e.text }

func usagef(c *cli.Context, format string, args ...any) error {
	return &usageError{command: c.Command.HelpName, text: fmt.Sprintf(format, args...)}
}

// unknownCommand is the action of a group of commands: it prints the group's help, or an error for a command
// that it does not have.
func unknownCommand(c *cli.Context) error {
	word := c.Args().First()
	if word == "" {
		return cli.ShowSubcommandHelp(c)
	}
	var names []string
	for _, sub := range c.Command.Subcommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return usagef(c, "unknown command %q of %s%s", word, c.Command.HelpName, didYouMean(word, names, ""))
}

// flagError rewords errors of the flag package.
func flagError(c *cli.Context, err error, _ bool) error {
	text := err.Error()
	if word, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		word = strings.TrimLeft(word, "-")
		return usagef(c, "unknown flag --%s of %s%s", word, c.Command.HelpName, didYouMean(word, flagNames(c), "--"))
	}
	if word, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return usagef(c, "--%s needs a value", strings.TrimLeft(word, "-"))
	}
	return usagef(c, "%s", strings.Replace(text, " for flag -", " for --", 1))
}

func flagNames(c *cli.Context) []string {
	names := []string{"help"}
	for _, flag := range c.Command.Flags {
		names = append(names, flag.Names()...)
	}
	return names
}

// addressFlag returns the address to listen on that a flag gives.
func addressFlag(c *cli.Context, flag string) (string, error) {
	address := c.String(flag)
	if _, _, err := net.SplitHostPort(address); err != nil {
		advice := ""
		if _, wrong := strconv.ParseUint(address, 10, 16); wrong == nil {
			advice = fmt.Sprintf("; did you mean 127.0.0.1:%[1]s, for this machine only, or 0.0.0.0:%[1]s, for all addresses?",
				address)
		}
		return "", usagef(c, "--%s: %v%s", flag, err, advice)
	}
	return address, nil
}

// didYouMean returns "; did you mean …?", or nothing if no name is similar.
func didYouMean(word string, names []string, prefix string) string {
	name := setup.Nearest(word, names)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", prefix+name)
}

// listenAdvice adds advice to errors of listening on the address of a flag.
func listenAdvice(err error, flag string) error {
	return advise(err, map[error]string{
		syscall.EADDRINUSE:    "something listens there already: stop it, or choose another port with " + flag,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + flag,
		syscall.EACCES:        "this user may not listen there: choose a port above 1023 with " + flag,
	})
}

// storageAdvice adds advice to errors of serving storage, for the flags of the directory and the address.
func storageAdvice(err error, data, listen string) error {
	return advise(err, map[error]string{
		syscall.EADDRINUSE:    "something listens there already: stop it, or choose three other ports with " + listen,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + listen,
		syscall.EACCES: "permission denied: choose another directory with " + data + ", or ports above 1023 with " +
			listen,
		local.ErrInUse:  "another process serves it: stop that one, or choose another directory with " + data,
		local.ErrNewer:  "run that version, or choose another directory with " + data,
		syscall.ENOTDIR: "that is a file: choose another directory with " + data,
		syscall.EROFS:   "the file system is read-only: choose another directory with " + data,
		syscall.ENOSPC:  "the disk is full: free some space, or choose another directory with " + data,
	})
}

// advise adds the advice for the cause of an error.
func advise(err error, advice map[error]string) error {
	for cause, text := range advice {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, text)
		}
	}
	return err
}
