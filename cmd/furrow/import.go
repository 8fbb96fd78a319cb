package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/history"
	"furrow/cmd/internal/readings"
	"furrow/tables/schema"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "Import the past readings of devices from a file",
		ArgsUsage: "FILE",
		Description: `FILE is CSV, JSON, InfluxDB's line protocol or Parquet; the texts may be compressed with gzip, zstd or
bzip2, and - is the standard input. See 'furrow help imports' for the forms that are known and for what is guessed.
The command first reads the whole file and reports what it understood: columns, how times are read, and rows as they
would be stored. If that is not certain, it asks on a terminal, and otherwise names the flag that decides and exits
with 2. Devices that are not registered are added to the enrollment, with the time of their first reading as the time
of their deployment and the values of the columns site, lat and lon. The rows may have any order: they are sorted in a
temporary file, about as large as FILE, in the directory that TMPDIR names.
Importing the same file again changes nothing, so an import that was stopped is continued by repeating it. The
next run of each pipeline folds what was imported, also where the device has newer readings. Nothing that is stored
is replaced: a row with the same key and other values is a conflict, which is counted and not written. Invalid lines,
and rows of the future, are reported by number and skipped.` + examples(
			"import 2025.csv.gz --enrollment line4 --dry-run", "import 2025.parquet --enrollment line4",
			"import pump-7.csv --device pump-7 --time-column Datum,Zeit --zone Europe/Berlin"),
		Flags: append(append(storageFlags(), enrollmentFlag("the only one"),
			&cli.StringFlag{Name: "device", Usage: "`ID` of the device of all rows: no column names it"}),
			append(columnFlags(""),
				boolFlag("dry-run", "Report what would be imported and change nothing"),
				&cli.StringFlag{Name: "errors", Usage: "Write all problems to `FILE` as lines of JSON"},
				&cli.StringFlag{Name: "conflicts", Usage: "Write rows that are stored with other values to `FILE` as lines of " +
					"JSON, with both values"},
				&cli.StringFlag{Name: "registered", Usage: "Append the IDs of the devices that are registered to " +
					"`FILE`, for furrow device remove --file"},
				&cli.IntFlag{Name: "workers", Value: 16, Usage: "`NUMBER` of devices that are written at the same time"},
				jsonFlag())...),
		Action: stoppable(importHistory),
	}
}

// historyLine is an import in JSON.
type historyLine struct {
	history.Summary
	Enrollment schema.EnrollmentID `json:"enrollment"`
	DryRun     bool                `json:"dryRun"`
	Seconds    float64             `json:"seconds"`
	Plan       readings.Plan       `json:"understood"`
	Registered []schema.DeviceID   `json:"registered,omitempty"` // devices that this import added
}

func importHistory(c *cli.Context) (err error) {
	if err := between(c, 1, 1000, "workers"); err != nil {
		return err
	}
	device, err := parsed(c, "device", schema.ParseDeviceID)
	if err != nil {
		return err
	}
	d, e, err := openForDevices(c)
	if err != nil {
		return err
	}
	began, show := time.Now(), newLongWork(c)
	file, err := openImport(c, show)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	in, err := understand(c, file)
	if err != nil {
		return stoppedEarly(c, fmt.Errorf("%s: %w", c.Args().First(), err))
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if !c.Bool("json") {
		printPlan(c.App.ErrWriter, c.Args().First(), in.Plan)
	}
	out, err := newImportFiles(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	file.begin("reading")
	i := history.Import{Registry: d.Registry, Readings: d.Tables.Table(e.Readings), Enrollment: e,
		Device: device, Now: began, DryRun: c.Bool("dry-run"), Workers: c.Int("workers"),
		Wrong: out.add, Conflict: out.clash, Registered: out.register, Progress: file.progress}
	if in.HasKeys() {
		held, err := d.Generations().Holding(c.Context, config.File{})
		if err != nil {
			return err
		}
		i.Meant = held.Config.Pipelines[0].Meant()
	}
	sum, err := i.Run(c.Context, in)
	return importedHistory(c, historyLine{sum, e.ID, c.Bool("dry-run"), time.Since(began).Seconds(), in.Plan,
		out.registered}, out, err)
}

func importedHistory(c *cli.Context, l historyLine, p *importFiles, failed error) error {
	if rest := p.shown - mostSaid; rest > 0 {
		fmt.Fprintf(c.App.ErrWriter, "and %d more: --errors FILE writes all of them\n", rest)
	}
	file := c.Args().First()
	switch {
	case c.Context.Err() != nil:
		return stoppedEarly(c, fmt.Errorf("stopped at line %s of %s, with %s written: run the same command again to continue",
			grouped(int64(l.Lines)), file, many(int64(l.Written), "row")))
	case failed != nil:
		return fmt.Errorf("%s: %w; %s written: run the same command again to continue", file, failed,
			many(int64(l.Written), "row"))
	}
	if err := printLine(c, l, l.text()); err != nil {
		return err
	}
	if l.Wrong > 0 {
		return fmt.Errorf("%d of %d lines are invalid and were skipped", l.Wrong, l.Lines)
	}
	return nil
}

func (l historyLine) text() string {
	span, did := "", [2]string{"added", "wrote"}
	if l.Rows > 0 {
		span = fmt.Sprintf(", from %s to %s", l.Oldest.Format(time.RFC3339), l.Newest.Format(time.RFC3339))
	}
	if l.DryRun {
		did = [2]string{"would add", "would write"}
	}
	text := fmt.Sprintf("%s: %s of %s%s\n%s %s, %s %s (%s stored already), skipped %s\nsensors: %s",
		many(int64(l.Lines), "line"), many(int64(l.Rows), "reading"), many(int64(l.Devices), "device"), span,
		did[0], many(int64(l.Added), "device"), did[1], many(int64(l.Written), "row"),
		grouped(int64(l.Rows-l.Written-l.Clashes)), many(int64(l.Wrong), "invalid line"), strings.Join(l.Sensors, ", "))
	for _, more := range []struct {
		n    int
		what string
	}{{l.Empty, "line without a value"}, {l.Equal, "repeated reading"},
		{l.Clashes, "conflict with what is stored"}} {
		if more.n > 0 {
			text += "\n" + strings.Replace(many(int64(more.n), more.what), "line without a values", "lines without a value", 1)
		}
	}
	if n := len(l.Registered); n > 0 && !l.DryRun {
		shown := l.Registered[:min(n, mostSaid)]
		text += fmt.Sprintf("\nregistered: %s", strings.Join(textsOf(shown), " "))
		if n > len(shown) {
			text += fmt.Sprintf(" and %s more", grouped(int64(n-len(shown))))
		}
	}
	return text
}

func textsOf[T ~string](all []T) (texts []string) {
	for _, one := range all {
		texts = append(texts, string(one))
	}
	return texts
}
