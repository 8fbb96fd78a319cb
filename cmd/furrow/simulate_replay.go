package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/replay"
	"furrow/tables/schema"
)

func replayFlags() []cli.Flag {
	return append(columnFlags(" of --replay"),
		&cli.StringFlag{Name: "replay", Usage: "Send the readings of `FILE`: CSV or JSON lines, optionally gzipped, or " +
			"Parquet; - is standard input. Sensors are columns, or there is a column sensor and a " +
			"column value. Times are shifted so that the newest is now"},
		&cli.StringFlag{Name: "tenant", DefaultText: "replay", Usage: "`TENANT` that owns the devices of --replay"},
		boolFlag("keep-times", "Do not shift the times of --replay; tokens then admit rows that old"))
}

// withoutReplay refuses flags for a generated fleet.
func withoutReplay(c *cli.Context, flags ...string) error {
	for _, name := range flags {
		if c.IsSet(name) {
			return usagef(c, "--%s does not go with --replay, which takes the fleet from a file", name)
		}
	}
	return nil
}

// onlyWithReplay refuses flags for a file.
func onlyWithReplay(c *cli.Context) error {
	names := []string{"tenant", "keep-times"}
	for _, flag := range columnFlags("") {
		names = append(names, flag.Names()...)
	}
	for _, name := range names {
		if c.IsSet(name) {
			return usagef(c, "--%s needs --replay", name)
		}
	}
	return nil
}

func newReplay(c *cli.Context) (*simulation, error) {
	if err := withoutReplay(c, "fleet", "devices", "tenants", "sensors", "months", "every", "send-every", "history",
		"seed", "dirt"); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	rec, tenant, err := readRecording(c, c.String("replay"), now)
	if err != nil {
		return nil, err
	}
	shift := now.Sub(rec.Newest)
	if c.Bool("keep-times") {
		if age := now.Sub(rec.Oldest); age > schema.MaxBackfill-time.Hour {
			return nil, fmt.Errorf("%s: its readings are from %s to %s, and no token admits rows of more than %s; without "+
				"--keep-times they are shifted so that the newest is now", c.String("replay"), rec.Oldest.Format(time.DateOnly),
				rec.Newest.Format(time.DateOnly), schema.FormatDuration(schema.MaxBackfill))
		}
		shift = 0
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %s of %s, from %s to %s%s\n", c.String("replay"),
		many(int64(rec.Readings), "reading"), many(int64(rec.Devices()), "device"), rec.Oldest.Format(time.RFC3339),
		rec.Newest.Format(time.RFC3339), wrongLines(rec.Wrong))
	if labels := rec.Labels(); len(labels) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "Columns that say one thing of a device become its labels: %s. To send them as "+
			"readings, "+
			"name all sensors with --columns.\n", strings.Join(labels, ", "))
	}
	s := &simulation{members: rec.Members(shift), tenants: []schema.Tenant{tenant},
		backfill: backfillFor(now.Sub(rec.Oldest.Add(shift))), expected: int64(rec.Readings), wrong: rec.Wrong}
	s.run.Members, s.run.From = s.members, rec.Oldest.Add(shift)
	s.run.Sendings = func(m simulate.Member) simulate.Stream { return rec.Sendings(m, shift) }
	return s, nil
}

func wrongLines(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s skipped", many(int64(n), "invalid line"))
}

// readRecording reads the file and reports invalid lines.
func readRecording(c *cli.Context, name string, now time.Time) (*replay.Recording, schema.Tenant, error) {
	text := "replay"
	if c.IsSet("tenant") {
		text = c.String("tenant")
	}
	tenant, err := schema.ParseTenant(text)
	if err != nil {
		return nil, "", usagef(c, "--tenant: %v", err)
	}
	in, done, err := openFile(c, name)
	if err != nil {
		return nil, "", err
	}
	defer done() // it was only read
	columns, err := columnsOf(c)
	if err != nil {
		return nil, "", err
	}
	said := 0
	rec, err := replay.Read(in, replay.Config{
		Columns: columns, Tenant: tenant, Name: strings.SplitN(filepath.Base(name), ".", 2)[0], Now: now,
		Wrong: func(line int, err error) {
			if said++; said <= mostSaid {
				fmt.Fprintf(c.App.ErrWriter, "line %d: %v\n", line, err)
			}
		}})
	if rest := said - mostSaid; rest > 0 {
		fmt.Fprintf(c.App.ErrWriter, "and %s more\n", grouped(int64(rest)))
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w (name columns with --device-column, --time-column and --columns)", name, err)
	}
	return rec, tenant, nil
}
