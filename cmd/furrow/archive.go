package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/records"
	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

func archiveCommand() *cli.Command {
	return &cli.Command{
		Name:  "archive",
		Usage: "List, verify and rewrite the Parquet files of the archive",
		Description: `With archive: {format: parquet}, workers keep the readings of each tenant's day in Parquet files that DuckDB,
Spark and pandas read. With every: 1h, the hours of open days have files, too.` + examples(
			"archive list --tenant contoso", "archive verify --from -7d"),
		Subcommands: []*cli.Command{{
			Name:        "list",
			Usage:       "List the days and hours that the archive has",
			Description: examples("archive list", "archive list --tenant contoso --from 2026-11-01 --json"),
			Flags:       append(append(fleetFlags(), archiveFlags()...), listFlags()[0], listFlags()[1]),
			Action:      archiveList,
		}, {
			Name:  "verify",
			Usage: "Read files and compare them with their manifests",
			Description: `Downloads every file, checks its size, its hash and its readings, compares rollups and reports with these, and
prints what is wrong. With --readings it also looks for each reading in storage. A day that is being rewritten can seem wrong for a moment.` +
				examples("archive verify", "archive verify --tenant contoso --from -7d --readings"),
			Flags: append(append(fleetFlags(), archiveFlags()...),
				boolFlag("readings", "Compare files with the readings in storage, too"), jsonFlag()),
			Action: archiveVerify,
		}, {
			Name:  "rewrite",
			Usage: "Make the files of some days again",
			Description: `Reads the readings of whole days and replaces their files. Workers do this by themselves when readings come
late; use it after files were deleted or damaged. Of days that are still open, it makes the hours that are over,
where the archive has hourly files.` +
				examples("archive rewrite --tenant contoso --from 2026-11-20 --to 2026-11-22"),
			Flags:  append(append(fleetFlags(), archiveFlags()...), jsonFlag()),
			Action: archiveRewrite,
		}},
	}
}

func archiveFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "Days of `TENANT`"},
		&cli.StringFlag{Name: "from", DefaultText: "all", Usage: "First day as `TIME`, such as 2026-11-20 or -7d"},
		&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "`TIME` before which the days end"},
	}
}

// An archiveScope selects days and hours.
type archiveScope struct {
	tenant schema.Tenant
	from   schema.Day
	to     tables.Ticks // they end at or before it
}

func archiveScopeOf(c *cli.Context) (s archiveScope, err error) {
	s.tenant = schema.Tenant(c.String("tenant"))
	if s.tenant != "" {
		if _, err := schema.ParseTenant(string(s.tenant)); err != nil {
			return s, usagef(c, "--tenant: %v", err)
		}
	}
	from := c.String("from")
	if from == "" {
		from = tables.Ticks(0).String()
	}
	span, err := parseSpan(from, c.String("to"), 0, time.Now())
	if err != nil {
		return s, usagef(c, "%v", err)
	}
	s.from, s.to = schema.DayOf(span.From), span.To
	return s, nil
}

func (s archiveScope) has(f archive.Folder) bool {
	_, to := f.Times()
	return f.Day >= s.from && to <= s.to
}

// archiveLine is what the archive has of a tenant's day and a partition of the fleet, in JSON.
type archiveLine struct {
	Tenant    schema.Tenant `json:"tenant"`
	Date      string        `json:"date"`
	Hour      string        `json:"hour,omitempty"` // 00 to 23: files of an hour, until there are those of the day
	Partition schema.Month  `json:"partition"`      // of the fleet: the month of its devices, with the shard
	Files     int           `json:"files"`
	Readings  int64         `json:"readings"`
	Bytes     int64         `json:"bytes"`
	Rollups   int64         `json:"rollups,omitempty"` // rows in files of rollups
	Reports   int64         `json:"reports,omitempty"` // rows in files of reports
	Watermark time.Time     `json:"watermark"`         // every reading that storage had accepted then is in the files
	Wrong     []string      `json:"wrong,omitempty"`   // what archive verify has found
}

func archiveLineOf(f archive.Folder, m *archive.Manifest) archiveLine {
	line := archiveLine{Tenant: f.Tenant, Date: f.Day.String(), Hour: f.Hour.String(), Partition: f.Month,
		Files: len(m.Files) + len(m.Rollups) + len(m.Reports), Readings: m.Readings, Bytes: m.Bytes, Watermark: m.Watermark}
	for _, file := range m.Rollups {
		line.Rollups, line.Bytes = line.Rollups+file.Rows, line.Bytes+file.Bytes
	}
	for _, file := range m.Reports {
		line.Reports, line.Bytes = line.Reports+file.Rows, line.Bytes+file.Bytes
	}
	return line
}

func (archiveLine) Columns() []string {
	return []string{"tenant", "date", "hour", "partition", "files", "readings", "rollups", "reports", "bytes", "watermark"}
}

func (l archiveLine) Lines() [][]any {
	return [][]any{{string(l.Tenant), l.Date, l.Hour, l.Partition.String(), int64(l.Files), l.Readings, l.Rollups,
		l.Reports, l.Bytes, records.Second(tables.TicksOf(l.Watermark))}}
}

func (l archiveLine) Object() any { return l }

// manifests yields what the archive has of the selected days.
func (s archiveScope) manifests(ctx context.Context, store *archive.Store) iter.Seq2[archivedDay, error] {
	return func(yield func(archivedDay, error) bool) {
		for f, err := range store.Folders(ctx, s.tenant) {
			if err == nil && !s.has(f) {
				continue
			}
			var m *archive.Manifest
			if err == nil {
				m, err = store.Manifest(ctx, f)
			}
			if errors.Is(err, archive.ErrNoManifest) {
				continue // it was deleted meanwhile
			}
			if !yield(archivedDay{f, m}, err) || err != nil {
				return
			}
		}
	}
}

type archivedDay struct {
	archive.Folder
	manifest *archive.Manifest
}

func (d archivedDay) line() archiveLine {
	if d.manifest == nil {
		return archiveLine{}
	}
	return archiveLineOf(d.Folder, d.manifest)
}

func archiveList(c *cli.Context) error {
	if err := checkAnswer(c); err != nil {
		return err
	}
	scope, err := archiveScopeOf(c)
	if err != nil {
		return err
	}
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	if f.Archive == nil {
		return errNoArchive
	}
	return answer(c, printed(scope.manifests(c.Context, f.Archive), archivedDay.line), func() (string, error) {
		return "the archive has no Parquet files of these days", knownTenant(c, f.Reader(), scope.tenant)
	})
}

var errNoArchive = errors.New("the storage account has no Blob endpoint, and so no archive")

// archivist returns the pipeline whose archive has Parquet files.
func archivist(f *roles.Fleet) (*archive.Days, error) {
	if f.Archive == nil {
		return nil, errNoArchive
	}
	for _, p := range f.Pipelines {
		i := slices.IndexFunc(p.Processors, func(p config.Processor) bool { return p.Name == archive.Processor.Name })
		if i < 0 {
			continue
		}
		if settings := p.Processors[i].Config.(*archive.Config); settings.Format == archive.Parquet {
			built, err := f.Jobs(p)
			if err != nil {
				return nil, err
			}
			return built.Groups[schema.ArchiveMark].(*archive.Days), nil
		}
	}
	return nil, errors.New("no pipeline has an archive with format: parquet; see furrow config show")
}

func archiveVerify(c *cli.Context) error {
	scope, err := archiveScopeOf(c)
	if err != nil {
		return err
	}
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	if f.Archive == nil {
		return errNoArchive
	}
	stored := func(archivedDay) *groups.TenantDay { return nil }
	if c.Bool("readings") {
		days, err := archivist(f)
		if err != nil {
			return err
		}
		stored = func(d archivedDay) *groups.TenantDay {
			day := days.Readings(d.Folder)
			return &day
		}
	}
	found, wrong := int64(0), int64(0)
	for d, err := range scope.manifests(c.Context, f.Archive) {
		if err != nil {
			return err
		}
		line := d.line()
		for problem, err := range f.Archive.Verify(c.Context, d.Folder, d.manifest, stored(d)) {
			if err != nil {
				return err
			}
			line.Wrong = append(line.Wrong, problem)
		}
		if len(line.Wrong) > 0 {
			if has, err := f.Archive.Has(c.Context, d.Folder); err != nil {
				return err
			} else if !has {
				continue // it was deleted meanwhile, such as an hour by the files of its day
			}
		}
		found, wrong = found+line.Readings, wrong+int64(len(line.Wrong))
		if err := printLine(c, line, line.text()); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%s; furrow archive rewrite makes files again", many(wrong, "problem"))
	}
	fmt.Fprintf(c.App.ErrWriter, "furrow: %s in files that are as they should be\n", many(found, "reading"))
	return nil
}

// text is a line, and one for each problem.
func (l archiveLine) text() string {
	date := l.Date
	if l.Hour != "" {
		date += " hour " + l.Hour
	}
	text := fmt.Sprintf("%s %s, partition %s: %s, %s", l.Tenant, date, l.Partition, many(int64(l.Files), "file"),
		many(l.Readings, "reading"))
	for _, wrong := range l.Wrong {
		text += "\n  " + wrong
	}
	return text
}
