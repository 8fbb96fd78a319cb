package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

func retentionCommand() *cli.Command {
	return &cli.Command{
		Name:  "retention",
		Usage: "Delete what is no longer kept, and explain what goes when",
		Subcommands: []*cli.Command{{
			Name:  "run",
			Usage: "Delete now what the configuration no longer keeps",
			Description: `Workers delete by themselves every six hours; this command has them begin now. With --dry-run it counts the
rows that would go, tenant by tenant, and says why others stay.` + examples("retention run --dry-run", "retention run"),
			Flags:  append(fleetFlags(), boolFlag("dry-run", "Count rows and change nothing"), jsonFlag()),
			Action: retentionRun,
		}, {
			Name:      "explain",
			Usage:     "Say how long the readings of a device are kept, and why",
			ArgsUsage: "DEVICE",
			Description: `Prints which entry of the configuration holds for the device, which rows go next, and what keeps rows that
are old enough to go.` + examples("retention explain pump-7"),
			Flags:  append(fleetFlags(), jsonFlag()),
			Action: retentionExplain,
		}},
	}
}

// retainedLine is what retention does with the readings of a device, in JSON.
type retainedLine struct {
	Device schema.DeviceID `json:"device"`
	Tenant schema.Tenant   `json:"tenant"`
	Kept   string          `json:"kept"`  // how long readings are kept: a duration, or forever
	Where  string          `json:"where"` // only readings go for which this holds; empty: all
	// Cut is the time below which readings are old enough to go.
	Cut       *time.Time `json:"cut,omitempty"`
	Watermark *time.Time `json:"watermark,omitempty"` // readings below it are never folded again
	Swept     *time.Time `json:"swept,omitempty"`     // what goes of the readings below it is gone
	Rows      int        `json:"rows"`                // readings that the next run deletes
	Stay      *time.Time `json:"stay,omitempty"`      // readings from here up to the cut stay
	Why       string     `json:"why,omitempty"`       // they stay
}

func retainedLineOf(r jobs.Retained) retainedLine {
	line := retainedLine{Device: r.Member.Device, Tenant: r.Member.Tenant, Kept: "forever", Rows: r.Rows,
		Why: r.Wait.Reason}
	when := func(t tables.Ticks) *time.Time {
		if t == 0 {
			return nil
		}
		at := t.Time()
		return &at
	}
	line.Cut, line.Watermark, line.Swept = when(r.Cut), when(r.Watermark), when(r.Swept)
	if r.Kept > 0 {
		line.Kept = schema.FormatDuration(r.Kept)
		if r.Keep.Where != nil {
			line.Where = r.Keep.Where.String()
		}
	}
	if line.Why != "" {
		line.Stay = &time.Time{}
		*line.Stay = r.Wait.Until.Time()
	}
	if r.Err != nil {
		line.Why = r.Err.Error()
	}
	return line
}

func (l retainedLine) text() string {
	if l.Cut == nil {
		return fmt.Sprintf("%s: readings are kept for ever", l.Device)
	}
	var b strings.Builder
	what := "readings are"
	if l.Where != "" {
		what = "readings where " + l.Where + " are"
	}
	day := func(t *time.Time) string { return t.Format(time.DateOnly) }
	fmt.Fprintf(&b, "%s: %s kept for %s: those before %s may go", l.Device, what, l.Kept, day(l.Cut))
	if l.Swept != nil {
		fmt.Fprintf(&b, "\n  gone: before %s", day(l.Swept))
	}
	fmt.Fprintf(&b, "\n  next: %s", many(int64(l.Rows), "reading"))
	switch {
	case l.Why == "":
	case l.Stay == nil || l.Stay.Year() < 1000:
		fmt.Fprintf(&b, "\n  the others stay: %s", l.Why)
	default:
		fmt.Fprintf(&b, "\n  from %s on they stay: %s", day(l.Stay), l.Why)
	}
	return b.String()
}

// openRetention returns the pipeline that deletes, with what tokens admit.
func openRetention(c *cli.Context) (*roles.Fleet, *stores, config.Pipeline, *jobs.Pipeline, error) {
	f, s, err := openFleet(c)
	if err != nil {
		return nil, nil, config.Pipeline{}, nil, err
	}
	i := slices.IndexFunc(f.Pipelines, config.Pipeline.Retains)
	if i < 0 {
		return nil, nil, config.Pipeline{}, nil, errors.New("the configuration keeps everything: " +
			"add retention: [{readings: 30d}] to it ('furrow help configuration' tells more)")
	}
	p, err := f.Jobs(f.Pipelines[i])
	if err == nil {
		p.Admits, err = f.Admits(c.Context)
	}
	return f, s, f.Pipelines[i], p, err
}

func retentionExplain(c *cli.Context) error {
	id, err := schema.ParseDeviceID(c.Args().First())
	if err != nil {
		return usagef(c, "name a DEVICE: %v", err)
	}
	_, s, _, p, err := openRetention(c)
	if err != nil {
		return err
	}
	found := false
	for m, err := range s.reader().Members(c.Context, query.DeviceSelector{Device: id}) {
		if err != nil {
			return err
		}
		found = true
		for r, err := range p.Retained(c.Context, jobs.Batch{First: m.Place(), Last: m.Place()}) {
			if err != nil {
				return err
			}
			line := retainedLineOf(r)
			if err := printLine(c, line, line.text()); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("there is no device %s", id)
	}
	return nil
}

// retentionLine is what retention deletes of a tenant, in JSON.
type retentionLine struct {
	Tenant  schema.Tenant `json:"tenant"`  // empty: the fleet
	Table   string        `json:"table"`   // readings, another table, or archive
	Devices int           `json:"devices"` // with readings that go
	Rows    int           `json:"rows"`    // that go, or objects of the archive
	Waiting int           `json:"waiting"` // devices with readings that are old enough and stay
	Why     string        `json:"why,omitempty"`
}

// startedLine says that workers begin, in JSON.
type startedLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Run      time.Time       `json:"run"` // time that identifies the run in furrow status
}

func retentionRun(c *cli.Context) error {
	f, s, of, p, err := openRetention(c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return retentionDryRun(c, s, p)
	}
	run := tables.TicksOf(time.Now())
	m := jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: run, Generation: f.Generation}
	err = s.recorded(c.Context, schema.Act{What: "retention run"}, func(ctx context.Context) (string, error) {
		return "enqueued", f.Queue(of).Put(ctx, m, 0)
	})
	if errors.Is(err, worker.ErrNoQueue) {
		return fmt.Errorf("pipeline %s has no queue yet: furrow up or furrow schedule creates it", p.Name)
	}
	if err != nil {
		return err
	}
	return printLine(c, startedLine{p.Name, run.Time()}, fmt.Sprintf("workers delete now what is no longer kept, as run "+
		"%s; furrow status --pipeline %s shows what they did", run.Time().Format(time.RFC3339), p.Name))
}

// retentionDryRun prints a line for each tenant.
func retentionDryRun(c *cli.Context, s *stores, p *jobs.Pipeline) error {
	line, batch := retentionLine{}, []schema.Member{}
	end := func() error {
		if line.Tenant == "" {
			return nil
		}
		return printLine(c, line, line.text())
	}
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		b := jobs.Batch{First: batch[0].Place(), Last: batch[len(batch)-1].Place()}
		batch = batch[:0]
		for r, err := range p.Retained(c.Context, b) {
			if err != nil {
				return err
			}
			if r.Member.Tenant != line.Tenant {
				if err := end(); err != nil {
					return err
				}
				line = retentionLine{Tenant: r.Member.Tenant, Table: readingsTable}
			}
			line.add(r)
		}
		return nil
	}
	for m, err := range s.reader().Members(c.Context, query.DeviceSelector{}) {
		if err != nil {
			return err
		}
		if n := len(batch); n == jobs.MaxBatch || n > 0 && batch[0].Month != m.Month {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, m)
	}
	if err := errors.Join(flush(), end()); err != nil {
		return err
	}
	return outdatedDryRun(c, p)
}

const readingsTable = "readings"

// outdatedDryRun prints a line for each tenant and table with rows that go.
func outdatedDryRun(c *cli.Context, p *jobs.Pipeline) error {
	var line retentionLine
	end := func() error {
		if line.Rows == 0 {
			return nil
		}
		return printLine(c, line, line.text())
	}
	for old, err := range p.Outdated(c.Context, tables.TicksOf(time.Now())) {
		if err != nil {
			return err
		}
		if old.Tenant != line.Tenant || old.Table != line.Table {
			if err := end(); err != nil {
				return err
			}
			line = retentionLine{Tenant: old.Tenant, Table: old.Table}
		}
		line.Rows += old.Rows
	}
	return end()
}

func (l *retentionLine) add(r jobs.Retained) {
	if l.Rows += r.Rows; r.Rows > 0 {
		l.Devices++
	}
	if r.Wait.Reason != "" || r.Err != nil {
		l.Waiting++
		l.Why = retainedLineOf(r).Why
	}
}

func (l retentionLine) text() string {
	if l.Table != readingsTable {
		what := many(int64(l.Rows), "row") + " of " + l.Table
		if l.Table == "archive" {
			what = many(int64(l.Rows), "object") + " of the archive"
		}
		return fmt.Sprintf("%s: %s would go", cmp.Or(string(l.Tenant), "the fleet"), what)
	}
	text := fmt.Sprintf("%s: %s of %s would go", l.Tenant, many(int64(l.Rows), "reading"),
		many(int64(l.Devices), "device"))
	if l.Waiting > 0 {
		text += fmt.Sprintf("; some of %s stay, one because: %s", many(int64(l.Waiting), "device"), l.Why)
	}
	return text
}
