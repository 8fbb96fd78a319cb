package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/history"
	"furrow/cmd/internal/readings"
	"furrow/tables/schema"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "Import the past readings of devices from a file",
		ArgsUsage: "FILE",
		Description: `FILE is CSV with a header, lines of JSON, or Parquet; the first two may be gzipped, and - is the standard
input. Sensors are columns, or there is a column sensor and a column value. Devices that are not
registered are added to the enrollment, with the time of their first reading as the time of their deployment
and the values of the columns site, lat and lon. The rows may have any order: they are sorted in a temporary
file, about as large as FILE, in the directory that TMPDIR names.
Importing the same file again changes nothing, so an import that was stopped is continued by repeating it. The
next run of each pipeline folds what was imported, also where the device has newer readings. Nothing that is stored
is replaced: a row with the same key and other values is reported. Invalid lines, and rows of the future, are
reported by number and skipped.` + examples(
			"import 2025.csv.gz --enrollment line4 --dry-run", "import 2025.parquet --enrollment line4",
			"import pump-7.csv --device pump-7 --time-column Zeit"),
		Flags: append(append(storageFlags(), enrollmentFlag(),
			&cli.StringFlag{Name: "device", Usage: "`ID` of the device of all rows, where no column names it"}),
			append(columnFlags(""),
				boolFlag("dry-run", "Report what would be imported and change nothing"),
				&cli.StringFlag{Name: "errors", Usage: "Write all problems to `FILE` as lines of JSON"},
				&cli.IntFlag{Name: "workers", Value: 16, Usage: "`NUMBER` of devices that are written at the same time"},
				jsonFlag())...),
		Action: importHistory,
	}
}

// columnFlags say what the columns of a file of readings mean.
func columnFlags(of string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "device-column", DefaultText: "guessed",
			Usage: "`COLUMN`" + of + " that names the device, such as id, or " +
				"deviceInfo.devEui for a member of an object"},
		&cli.StringFlag{Name: "time-column", DefaultText: "guessed",
			Usage: "`COLUMN`" + of + " with the time of a reading"},
		&cli.StringFlag{Name: "columns", DefaultText: "all other columns",
			Usage: "`COLUMNS`" + of + " that hold sensors, separated by commas"},
	}
}

func columnsOf(c *cli.Context) readings.Columns {
	return readings.Columns{Device: c.String("device-column"), Time: c.String("time-column"),
		Sensors: words(c.String("columns"))}
}

// historyLine is an import in JSON.
type historyLine struct {
	history.Summary
	Enrollment schema.EnrollmentID `json:"enrollment"`
	DryRun     bool                `json:"dryRun"`
	Seconds    float64             `json:"seconds"`
}

func importHistory(c *cli.Context) (err error) {
	if c.NArg() != 1 {
		return usagef(c, "name one FILE, or - for the standard input")
	}
	if err := between(c, 1, 1000, "workers"); err != nil {
		return err
	}
	if text := c.String("device"); text != "" {
		if _, err := schema.ParseDeviceID(text); err != nil {
			return usagef(c, "--device: %v", err)
		}
	}
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	e, err := d.enrollment(c)
	if err != nil {
		return err
	}
	file, err := importInput(c)
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	in, err := readings.Open(file, columnsOf(c))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args().First(), err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	problems, err := newProblems(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, problems.close()) }()
	began, show := time.Now(), newProgress(c.App.ErrWriter, 10*time.Second)
	i := history.Import{Registry: d.Registry, Readings: d.Tables.Table(e.Readings), Enrollment: e,
		Device: schema.DeviceID(c.String("device")), Now: began, DryRun: c.Bool("dry-run"), Workers: c.Int("workers"),
		Wrong: problems.add,
		Progress: func(read, written int64) {
			show.Wait(fmt.Sprintf("%s read, %s written", many(read, "line"), many(written, "row")))
		}}
	show.stage = c.Args().First()
	sum, err := i.Run(c.Context, in)
	return importedHistory(c, historyLine{sum, e.ID, c.Bool("dry-run"), time.Since(began).Seconds()}, problems, err)
}

func importedHistory(c *cli.Context, l historyLine, p *problems, failed error) error {
	if rest := p.shown - mostSaid; rest > 0 {
		fmt.Fprintf(c.App.ErrWriter, "and %d more: --errors FILE writes all of them\n", rest)
	}
	file := c.Args().First()
	switch {
	case c.Context.Err() != nil:
		return fmt.Errorf("stopped before the end of %s, with %s written: run the same command again to continue", file,
			many(int64(l.Written), "row"))
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
	return fmt.Sprintf("%s: %s of %s%s\n%s %s, %s %s (%s stored already), skipped %s\nsensors: %s",
		many(int64(l.Lines), "line"), many(int64(l.Rows), "reading"), many(int64(l.Devices), "device"), span,
		did[0], many(int64(l.Added), "device"), did[1], many(int64(l.Written), "row"), grouped(int64(l.Rows-l.Written)),
		many(int64(l.Wrong), "invalid line"), strings.Join(l.Sensors, ", "))
}

// problems writes what an import skips to where the flags say.
type problems struct {
	c     *cli.Context
	shown int
	file  *os.File // nil without --errors
	out   *bufio.Writer
	err   error // of writing to the file
}

func newProblems(c *cli.Context) (p *problems, err error) {
	p = &problems{c: c}
	if name := c.String("errors"); name != "" {
		p.file, err = os.Create(name)
		p.out = bufio.NewWriter(p.file)
	}
	return p, err
}

func (p *problems) add(found history.Problem) {
	if p.file != nil && p.err == nil {
		p.err = json.NewEncoder(p.out).Encode(found)
	}
	if p.shown++; p.shown > mostSaid {
		return
	}
	device := ""
	if found.Device != "" {
		device = ", device " + string(found.Device)
	}
	fmt.Fprintf(p.c.App.ErrWriter, "line %d%s: %s\n", found.Line, device, found.Error)
}

func (p *problems) close() error {
	if p.file == nil {
		return nil
	}
	return errors.Join(p.err, p.out.Flush(), p.file.Close())
}
