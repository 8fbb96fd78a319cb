package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/jobs"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
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
rows that would go, tenant by tenant, and says why others stay. Ages go by the earliest of three clocks: the
scheduler's, the worker's and storage's. Workers by themselves delete only after pipelines have had runs in six
hours of a day (or in three slots, where those are more than an hour apart): on one machine, all clocks may have
jumped. This command does not wait for that, but only days go that an audit has counted for the last time, and
audits do wait for it.` + examples("retention run --dry-run", "retention run"),
			Flags:  append(fleetFlags(), boolFlag("dry-run", "Count rows and change nothing"), jsonFlag()),
			Action: retentionRun,
		}, {
			Name:      "explain",
			Usage:     "Say how long what is stored of a device is kept, and why",
			ArgsUsage: "DEVICE",
			Description: `Prints how long the device's rows and those of its tenant are kept, how many go next, and what keeps
rows that are old enough to go.` + examples("retention explain pump-7"),
			Flags:  append(fleetFlags(), jsonFlag()),
			Action: retentionExplain,
		}, {
			Name:  "lower-watermarks",
			Usage: "Lower watermarks that lie in the future",
			Description: `The watermark of a device is the time below which its readings may be gone. Nothing below it is folded, and
no token admits a reading there. It is never raised beyond the present, but a machine whose clocks are all
ahead takes the future for the present. Once they are right again, this command lowers such watermarks to the
day of the first reading that is stored, or else to today, but not below the days that retention has come to.
Pipelines then make all days from there on again, from the readings that there are. Where retention itself went
by the wrong clocks, what it deleted of the first day is missing in its outputs.` +
				examples("retention lower-watermarks --dry-run", "retention lower-watermarks"),
			Flags: append(fleetFlags(), boolFlag("dry-run", "Print watermarks that lie in the future, and change nothing"),
				jsonFlag()),
			Action: retentionLower,
		}},
	}
}

// openRetention returns the pipeline that deletes, with what tokens admit.
func openRetention(c *cli.Context) (*roles.Fleet, *stores, *jobs.Pipeline, error) {
	f, s, err := openFleet(c)
	if err != nil {
		return nil, nil, nil, err
	}
	i := slices.IndexFunc(f.Pipelines, config.Pipeline.Retains)
	if i < 0 {
		return nil, nil, nil, errors.New("the configuration keeps everything: " +
			"add retention: [{readings: 30d}] to it ('furrow help configuration' tells more)")
	}
	p, err := f.Jobs(f.Pipelines[i])
	if err == nil {
		p.Admits, err = f.Admits(c.Context)
	}
	return f, s, p, err
}

func retentionExplain(c *cli.Context) error {
	id, err := argument(c, 0, schema.ParseDeviceID)
	if err != nil {
		return err
	}
	_, s, p, err := openRetention(c)
	if err != nil {
		return err
	}
	found := false
	for m, err := range s.reader().Devices().Members(c.Context, query.DeviceSelector{Device: id}) {
		if err != nil {
			return err
		}
		found = true
		for r, err := range p.Retained(c.Context, jobs.Batch{First: m.Place(), Last: m.Place()}) {
			if err != nil {
				return err
			}
			lines := []retainedLine{retainedLineOf(r)}
			for _, own := range r.Own {
				lines = append(lines, tableLineOf(r.Member, own))
			}
			whole, err := p.Retainer().RetainedOf(c.Context, m.Tenant, tables.TicksOf(time.Now()))
			if err != nil {
				return err
			}
			for _, one := range whole {
				lines = append(lines, tableLineOf(r.Member, one))
			}
			for _, line := range lines {
				if err := printLine(c, line, line.text()); err != nil {
					return err
				}
			}
		}
	}
	if !found {
		return fmt.Errorf("there is no device %s", id)
	}
	return nil
}

// loweredLine is a watermark of the future, in JSON.
type loweredLine struct {
	Device schema.DeviceID `json:"device"`
	Tenant schema.Tenant   `json:"tenant"`
	From   time.Time       `json:"from"`
	To     *time.Time      `json:"to"` // null with --dry-run
}

func (l loweredLine) text() string {
	text := fmt.Sprintf("%s of %s: the watermark is %s", l.Device, l.Tenant, l.From.Format(time.RFC3339))
	if l.To == nil {
		return text + ", in the future"
	}
	return fmt.Sprintf("%s of %s: the watermark is %s now, and was %s", l.Device, l.Tenant, l.To.Format(time.RFC3339),
		l.From.Format(time.RFC3339))
}

func retentionLower(c *cli.Context) error {
	_, s, err := openFleet(c)
	if err != nil {
		return err
	}
	own := s.Tables.Table(s.Names.Partitions(config.Retention))
	act := schema.Act{What: "retention lower-watermarks"}
	lower := func(ctx context.Context) (string, error) {
		n := 0
		for m, err := range s.reader().Devices().Members(ctx, query.DeviceSelector{}) {
			now := tables.TicksOf(time.Now())
			if err != nil || m.Watermark <= now {
				if err != nil {
					return "", err
				}
				continue
			}
			line := loweredLine{Device: m.Device, Tenant: m.Tenant, From: m.Watermark.Time()}
			if !c.Bool("dry-run") {
				to, err := retain.Lower(ctx, s.Tables, s.Names, own, m, now)
				if err != nil {
					return "", fmt.Errorf("device %s: %w; run the command again", m.Device, err)
				}
				line.To = new(to.Time())
			}
			n++
			if err := printLine(c, line, line.text()); err != nil {
				return "", err
			}
		}
		if n == 0 && !c.Bool("json") {
			fmt.Fprintln(c.App.Writer, "no watermark lies in the future")
		}
		return fmt.Sprintf("%d devices", n), nil
	}
	if c.Bool("dry-run") {
		_, err := lower(c.Context)
		return err
	}
	return s.recorded(c.Context, act, lower)
}

// retentionLine is what retention deletes of a tenant, in JSON.
type retentionLine struct {
	Tenant  schema.Tenant `json:"tenant"`  // empty: the fleet
	Table   string        `json:"table"`   // readings, another table, or archive
	Devices int           `json:"devices"` // with readings that go
	Rows    int           `json:"rows"`    // that go, or files of the archive
	Waiting int           `json:"waiting"` // devices with readings that are old enough and stay
	Why     string        `json:"why,omitempty"`
}

// startedLine says that workers begin, in JSON.
type startedLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Run      time.Time       `json:"run"` // time that identifies the run in furrow status
}

func retentionRun(c *cli.Context) error {
	f, s, p, err := openRetention(c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return retentionDryRun(c, s, p)
	}
	run := tables.TicksOf(time.Now())
	m := jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: run, Generation: f.Generation}
	if err := s.enqueue(c.Context, schema.Act{What: "retention run"}, m); err != nil {
		return err
	}
	return printLine(c, startedLine{p.Name, run.Time()}, fmt.Sprintf("workers delete now what is no longer kept, as run "+
		"%s; furrow status --pipeline %s shows what they did", run.Time().Format(time.RFC3339), p.Name))
}

// retentionDryRun prints a line for each tenant, and one for each of its other tables with rows that go.
func retentionDryRun(c *cli.Context, s *stores, p *jobs.Pipeline) error {
	var lines retentionLines
	var batch []schema.Member
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
			lines.add(r)
		}
		return nil
	}
	for m, err := range s.reader().Devices().Members(c.Context, query.DeviceSelector{}) {
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
	if err := flush(); err != nil {
		return err
	}
	for old, err := range p.Retainer().Outdated(c.Context, tables.TicksOf(time.Now())) {
		if err != nil {
			return err
		}
		lines.of(old.Tenant, old.Table).Rows += old.Rows
	}
	return lines.print(c)
}

// retentionLines are those of a dry run. A tenant's devices come month by month, so it has one line for all of them.
type retentionLines []*retentionLine

// of returns the line of a table of a tenant.
func (all *retentionLines) of(t schema.Tenant, table string) *retentionLine {
	at := slices.IndexFunc(*all, func(l *retentionLine) bool { return l.Tenant == t && l.Table == table })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &retentionLine{Tenant: t, Table: table})
	}
	return (*all)[at]
}

func (all *retentionLines) add(r retain.Retained) {
	all.of(r.Member.Tenant, retain.ReadingsTable).add(r)
	for _, t := range r.Own {
		own := all.of(r.Member.Tenant, t.Table)
		if own.Rows += t.Rows; t.Rows > 0 {
			own.Devices++
		}
	}
}

// print prints the lines tenant by tenant, readings first, and the fleet last.
func (all retentionLines) print(c *cli.Context) error {
	others := func(is bool) int { return map[bool]int{true: 1}[is] }
	slices.SortStableFunc(all, func(a, b *retentionLine) int {
		return cmp.Or(cmp.Compare(others(a.Tenant == ""), others(b.Tenant == "")), cmp.Compare(a.Tenant, b.Tenant),
			cmp.Compare(others(a.Table != retain.ReadingsTable), others(b.Table != retain.ReadingsTable)))
	})
	for _, l := range all {
		if l.Rows == 0 && l.Table != retain.ReadingsTable {
			continue
		}
		if err := printLine(c, *l, l.text()); err != nil {
			return err
		}
	}
	return nil
}

func (l *retentionLine) add(r retain.Retained) {
	if l.Rows += r.Rows; r.Rows > 0 {
		l.Devices++
	}
	if r.Wait.Reason != "" || r.Err != nil {
		l.Waiting++
		l.Why = retainedLineOf(r).Why
	}
}

func (l retentionLine) text() string {
	if l.Table != retain.ReadingsTable {
		what := many(int64(l.Rows), "row") + " of " + l.Table
		if l.Table == "archive" {
			what = many(int64(l.Rows), "file") + " of the archive"
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
