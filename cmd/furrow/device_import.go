package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/factory"
	"furrow/cmd/internal/tabular"
	"furrow/tables/schema"
)

func deviceImportCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "Register the devices of a file, for example from a factory",
		ArgsUsage: "FILE",
		Description: `FILE is CSV with a header or lines of JSON, may be gzipped, and - is the standard input. Columns, in any
order:
  id                required
  tenant            default: the enrollment's
  site, lat, lon
  labels            a JSON object; or columns of their own, such as label.model
  deployed          2026-11-20, or RFC 3339; default: now; permanently sets the month
Invalid lines are reported with the reason and skipped. Importing the same file again changes nothing. A
line about a registered device changes everything but its tenant, its enrollment and its month.` + examples("device import devices.csv --enrollment line4", "device import devices.jsonl.gz --dry-run"),
		Flags: append(storageFlags(), enrollmentFlag("the only one"),
			choiceFlag("format", "by the name of the file, or csv", tabular.Formats(), "`FORMAT` of the file: csv or jsonl"),
			boolFlag("dry-run", "Report what would be done and change nothing"),
			&cli.StringFlag{Name: "errors", Usage: "Write all problems to `FILE` as lines of JSON"},
			&cli.IntFlag{Name: "workers", Value: 64, Usage: "`NUMBER` of concurrent writes"},
			jsonFlag()),
		Action: deviceImport,
	}
}

// mostSaid is the maximum number of notes that people are shown.
const mostSaid = 100

func deviceImport(c *cli.Context) (err error) {
	format, err := importFormat(c)
	if err != nil {
		return err
	}
	d, e, err := openForDevices(c)
	if err != nil {
		return err
	}
	in, done, err := openFile(c, c.Args().First())
	if err != nil {
		return err
	}
	defer done() // it was only read
	notes, err := newNotes(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, notes.close()) }()
	file, err := factory.Open(in, format)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args().First(), err)
	}
	i := factory.Import{Registry: d.Registry, Enrollment: e, DryRun: c.Bool("dry-run"), Workers: c.Int("workers")}
	var sum factory.Summary
	run := func(ctx context.Context) (_ string, err error) {
		sum, err = i.Run(ctx, file, notes.add)
		return fmt.Sprintf("%d added, %d changed, %d lines invalid", sum.Added, sum.Changed, sum.Wrong), err
	}
	if i.DryRun {
		_, err = run(c.Context)
	} else {
		err = d.recorded(c.Context, schema.Act{What: "device import", Tenant: e.Tenant,
			Detail: "enrollment " + string(e.ID)}, run)
	}
	return importEnd(c, file, e, notes, sum, err)
}

// importFormat returns the format that the flags or the file's name imply.
func importFormat(c *cli.Context) (tabular.Format, error) {
	if err := between(c, 1, 1000, "workers"); err != nil {
		return "", err
	}
	if format := c.String("format"); format != "" {
		return tabular.Format(format), nil
	}
	return tableFormat(c.Args().First()), nil
}

// tableFormat returns the format that a file's name implies.
func tableFormat(name string) tabular.Format {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson") {
		return tabular.JSONL
	}
	return tabular.CSV
}

// openInput opens a file; - is the standard input.
func openInput(c *cli.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.App.Reader), nil
	}
	return os.Open(name)
}

// importNotes writes notes to where the flags say.
type importNotes struct {
	c    *cli.Context
	said int
	file *jsonFile // nil without --errors
	err  error     // of printing
}

func newNotes(c *cli.Context) (*importNotes, error) {
	file, err := createJSON(c, "errors", os.O_TRUNC)
	return &importNotes{c: c, file: file}, err
}

func (n *importNotes) add(note factory.Note) {
	n.file.write(note)
	if n.c.Bool("json") {
		n.err = errors.Join(n.err, writeJSONLine(n.c.App.Writer, note))
		return
	}
	if n.said++; n.said > mostSaid {
		return
	}
	fmt.Fprintln(n.c.App.ErrWriter, noteText(note))
}

// noteText formats a note for people. An invalid ID is already part of the error.
func noteText(n factory.Note) string {
	device := ""
	if _, err := schema.ParseDeviceID(n.Device); err == nil {
		device = ", device " + n.Device
	}
	if n.Warning != "" {
		return fmt.Sprintf("line %d%s: warning: %s", n.Line, device, n.Warning)
	}
	return fmt.Sprintf("line %d%s: %s", n.Line, device, n.Error)
}

func (n *importNotes) close() error { return errors.Join(n.err, n.file.close()) }

// importLine is the summary of an import in JSON: its last line.
type importLine struct {
	factory.Summary
	Enrollment schema.EnrollmentID `json:"enrollment"`
	DryRun     bool                `json:"dryRun"`
	Unknown    []string            `json:"unknownColumns,omitempty"`
}

func importEnd(c *cli.Context, f *factory.File, e schema.Enrollment, notes *importNotes, sum factory.Summary,
	failed error) error {
	if rest := notes.said - mostSaid; rest > 0 {
		fmt.Fprintf(c.App.ErrWriter, "and %d more: --errors FILE writes all of them\n", rest)
	}
	if unknown := f.Unknown(); len(unknown) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "furrow: unknown columns were ignored: %q\n", unknown)
	}
	line, verb := importLine{Summary: sum, Enrollment: e.ID, DryRun: c.Bool("dry-run"), Unknown: f.Unknown()}, "are"
	if line.DryRun {
		verb = "would be"
	}
	if err := printLine(c, line, fmt.Sprintf("%d lines: %d devices %s added, %d changed, %d unchanged; %d lines are "+
		"invalid", sum.Lines, sum.Added, verb, sum.Changed, sum.Same, sum.Wrong)); err != nil {
		return err
	}
	switch {
	case c.Context.Err() != nil:
		return fmt.Errorf("stopped before the end of %s: run the same command again to continue", c.Args().First())
	case failed != nil:
		return fmt.Errorf("%w; run the same command again to continue", failed)
	case sum.Wrong > 0:
		return fmt.Errorf("%d of %d lines are invalid and were skipped", sum.Wrong, sum.Lines)
	}
	return nil
}
