package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"furrow/cmd/internal/readings"
	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
)

// columnFlags say how a file of readings is read.
func columnFlags(of string) []cli.Flag {
	text := func(name, otherwise, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, DefaultText: otherwise, Usage: usage}
	}
	return []cli.Flag{
		text("device-column", "guessed", "`COLUMN`"+of+" that names the device, such as id, or "+
			"deviceInfo.devEui for a member of an object"),
		text("time-column", "guessed", "`COLUMN`"+of+" with the time of a reading, or those of date and clock, such as "+
			"date,time"),
		text("sensor-column", "guessed", "`COLUMN`"+of+" that names the sensor of a row; several together name it, "+
			"separated by commas"),
		text("value-column", "guessed", "`COLUMN`"+of+" with the value of that sensor"),
		text("columns", "all other columns", "`COLUMNS`"+of+" that hold sensors, separated by commas"),
		text("time-format", "guessed", "`FORMAT` of times: "+times.Names()),
		text("zone", "UTC", "`ZONE` of times without one, such as Europe/Berlin or +02:00"),
		text("years", "1990-2100", "`YEARS` in which times are plausible; others are refused"),
		text("decimal", "guessed by column", "`CHARACTER` before decimals: a point or a comma"),
		text("encoding", "UTF-8, or by the byte order mark", "`ENCODING` of the text, such as windows-1252 or utf-16le"),
		text("separator", "guessed", "`CHARACTER` between the fields of CSV; \\\\t is a tab"),
		&cli.IntFlag{Name: "skip", Usage: "`NUMBER` of lines before the names of columns"},
		text("header", "the first line", "`NAMES` of columns of a file that does not have them, separated by commas"),
	}
}

// columnsOf returns what the flags say.
func columnsOf(c *cli.Context) (r readings.Columns, err error) {
	r = readings.Columns{Device: c.String("device-column"), Time: words(c.String("time-column")),
		Sensor: words(c.String("sensor-column")), Value: c.String("value-column"), Sensors: words(c.String("columns")),
		File: tabular.Options{Encoding: c.String("encoding"), Skip: c.Int("skip"), Header: words(c.String("header"))}}
	if err := between(c, 0, math.MaxInt, "skip"); err != nil {
		return r, err
	}
	if r.Format, err = parsed(c, "time-format", times.Named); err != nil {
		return r, err
	}
	if r.Terms.Zone, err = parsed(c, "zone", times.ParseZone); err != nil {
		return r, err
	}
	if years := c.String("years"); years != "" {
		if r.Terms.First, r.Terms.Last, err = times.ParseYears(years); err != nil {
			return r, usagef(c, "--years: %v", err)
		}
	}
	for name, into := range map[string]*rune{"decimal": &r.Decimal, "separator": &r.File.Separator} {
		text := []rune(strings.ReplaceAll(c.String(name), `\t`, "\t"))
		if len(text) > 1 || name == "decimal" && len(text) == 1 && text[0] != '.' && text[0] != ',' {
			return r, usagef(c, "--%s takes one character", name)
		}
		if len(text) == 1 {
			*into = text[0]
		}
	}
	return r, nil
}

// understand finds out how a file is read. What it does not tell for sure is asked for on a terminal.
func understand(c *cli.Context, file readings.File) (*readings.Reader, error) {
	asking := bufio.NewReader(c.App.Reader)
	for {
		columns, err := columnsOf(c)
		if err != nil {
			return nil, err
		}
		columns.OneDevice = c.String("device") != ""
		columns.NeedsDevice = !columns.OneDevice
		in, err := readings.Open(file, columns)
		unclear, is := errors.AsType[*tabular.UnclearError](err)
		if !is {
			return in, err
		}
		if !onTerminal(c.App.Reader) || !onTerminal(c.App.ErrWriter) || c.Args().First() == "-" {
			return nil, usagef(c, "%v", unclear)
		}
		if err := decide(c, asking, unclear); err != nil {
			return nil, err
		}
	}
}

func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// decide sets a flag to what is answered: a choice by its number, or another value.
func decide(c *cli.Context, in *bufio.Reader, unclear *tabular.UnclearError) error {
	fmt.Fprintf(c.App.ErrWriter, "%s\n", unclear.What)
	for i, choice := range unclear.Choices {
		fmt.Fprintf(c.App.ErrWriter, "  %d) --%s %q %s\n", i+1, unclear.Flag, choice.Value, choice.Means)
	}
	fmt.Fprintf(c.App.ErrWriter, "--%s: ", unclear.Flag)
	answer, err := in.ReadString('\n')
	answer = strings.TrimSpace(answer)
	if err != nil || answer == "" {
		return usagef(c, "%v", unclear)
	}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(unclear.Choices) {
		answer = unclear.Choices[n-1].Value
	}
	return c.Set(unclear.Flag, answer)
}
