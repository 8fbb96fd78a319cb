package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/simulate"
	"furrow/cmd/internal/simulate/replay"
	"furrow/tables/schema"
)

func replayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "replay", Usage: "Send the readings of `FILE`: CSV or JSON lines, optionally gzipped; - is " +
			"standard input. Sensors are columns, or there is a column sensor and a column value. Times are shifted so that " +
			"the newest is now"},
		&cli.StringFlag{Name: "device-column", DefaultText: "guessed", Usage: "`COLUMN` of --replay that names the device"},
		&cli.StringFlag{Name: "time-column", DefaultText: "guessed",
			Usage: "`COLUMN` of --replay with the time of a reading"},
		&cli.StringFlag{Name: "columns", DefaultText: "all that mean nothing else",
			Usage: "`COLUMNS` of --replay that hold sensors, separated by commas"},
		&cli.StringFlag{Name: "tenant", DefaultText: "replay", Usage: "`TENANT` that owns the devices of --replay"},
		&cli.BoolFlag{Name: "keep-times", Usage: "Do not shift the times of --replay; tokens then admit rows that old"},
	}
}

// notForReplays are flags about fleets that are made up.
func notForReplays() []string {
	return []string{"devices", "tenants", "sensors", "months", "every", "send-every", "history", "seed", "dirt"}
}

func newReplay(c *cli.Context) (*simulation, error) {
	for _, name := range notForReplays() {
		if c.IsSet(name) {
			return nil, usagef(c, "--%s is about a fleet that is made up, and --replay takes one from a file", name)
		}
	}
	if err := checkPace(c); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	rec, tenant, err := readRecording(c, now)
	if err != nil {
		return nil, err
	}
	shift := now.Sub(rec.Newest)
	if c.Bool("keep-times") {
		if age := now.Sub(rec.Oldest); age > schema.MaxBackfill-time.Hour {
			return nil, fmt.Errorf("%s: its readings are of %s to %s, and no token admits rows of more than %s; without "+
				"--keep-times they are shifted so that the newest is now",
				c.String("replay"), rec.Oldest.Format(time.DateOnly), rec.Newest.Format(time.DateOnly), lengthText(int64(schema.MaxBackfill.Seconds())))
		}
		shift = 0
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %s readings of %s devices, from %s to %s%s\n", c.String("replay"),
		grouped(int64(rec.Readings)), grouped(int64(rec.Devices())),
		rec.Oldest.Format(time.RFC3339), rec.Newest.Format(time.RFC3339), wrongLines(rec.Wrong))
	s := &simulation{members: rec.Members(shift), tenants: []schema.Tenant{tenant},
		backfill: backfillFor(now.Sub(rec.Oldest.Add(shift))), expected: int64(rec.Readings), wrong: rec.Wrong}
	s.run.Members, s.run.From, s.run.Pace = s.members, rec.Oldest.Add(shift), c.Float64("pace")
	s.run.Sendings = func(m simulate.Member) simulate.Stream { return rec.Sendings(m, shift) }
	return s, nil
}

func wrongLines(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s lines are wrong, and left out", grouped(int64(n)))
}

// readRecording reads the file, and says what is wrong in it.
func readRecording(c *cli.Context, now time.Time) (*replay.Recording, schema.Tenant, error) {
	text := "replay"
	if c.IsSet("tenant") {
		text = c.String("tenant")
	}
	tenant, err := schema.ParseTenant(text)
	if err != nil {
		return nil, "", usagef(c, "--tenant: %v", err)
	}
	in, name := io.Reader(c.App.Reader), c.String("replay")
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, "", err
		}
		defer f.Close() // it was only read
		in = f
	}
	said := 0
	rec, err := replay.Read(in, replay.Config{
		Columns: replay.Columns{Device: c.String("device-column"), Time: c.String("time-column"),
			Sensors: words(c.String("columns"))},
		Tenant: tenant, Name: strings.SplitN(filepath.Base(name), ".", 2)[0], Now: now,
		Wrong: func(line int, err error) {
			if said++; said <= mostSaid {
				fmt.Fprintf(c.App.ErrWriter, "line %d: %v\n", line, err)
			}
		}})
	if rest := said - mostSaid; rest > 0 {
		fmt.Fprintf(c.App.ErrWriter, "and %s more\n", grouped(int64(rest)))
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w (--device-column, --time-column and --columns say what columns mean)", name, err)
	}
	return rec, tenant, nil
}
