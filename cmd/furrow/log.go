package main

import (
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// logFor returns a log on standard error. Durations say their unit in both formats.
func logFor(c *cli.Context) *slog.Logger {
	level := slog.LevelInfo
	if c.Bool("verbose") {
		level = slog.LevelDebug
	}
	return newLog(c.App.ErrWriter, c.String(logFormat), level)
}

func newLog(to io.Writer, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format != "json" {
		return slog.New(slog.NewTextHandler(to, options))
	}
	options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr { // else whole nanoseconds
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(to, options))
}

// logsJSON reports whether a command line is one of a command with a log, and in JSON.
func logsJSON(all []*cli.Command, args []string) bool {
	has := func(c *cli.Command) bool {
		return len(args) > 1 && c.HasName(args[1]) && slices.ContainsFunc(c.Flags, func(f cli.Flag) bool {
			return slices.Contains(f.Names(), logFormat)
		})
	}
	if !slices.ContainsFunc(all, has) {
		return false
	}
	format := os.Getenv(logFormatVariable)
	for i, arg := range args {
		name, value, within := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name == logFormat && strings.HasPrefix(arg, "-") {
			if format = value; !within && i+1 < len(args) {
				format = args[i+1]
			}
		}
	}
	return format == "json"
}

// A jsonWriter makes lines of a log of what is written for people, such as warnings and the error that ends a command.
// The lines of a log in JSON stay as they are.
type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	if len(p) > 0 && p[0] == '{' {
		return w.to.Write(p)
	}
	text := strings.TrimSpace(string(p))
	log := newLog(w.to, "json", slog.LevelInfo)
	if warning, is := strings.CutPrefix(text, "warning: "); is {
		log.Warn(warning)
	} else if problem, is := strings.CutPrefix(text, "furrow: "); is {
		log.Error(problem)
	} else if text != "" {
		log.Info(strings.TrimPrefix(text, "note: "))
	}
	return len(p), nil
}
