package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

func archiveCommand() *cli.Command {
	return &cli.Command{
		Name:  "archive",
		Usage: "List, download, verify, copy and rewrite the tables of the archive",
		Description: `The processor archive keeps the readings of each tenant in a Delta table, which polars, DuckDB, pandas, Spark
and Fabric read, and rollups and reports in others: see furrow help delta.` + examples(
			"archive list --tenant contoso", "archive verify"),
		Subcommands: []*cli.Command{{
			Name:  "list",
			Usage: "List the days that the archive has",
			Description: `Counts come from what the archive knows of its files: none is read. A note tells how many days of all
tenants wait to be made, and since when. With --versions, it lists what each version of a table changed, and why.` +
				examples("archive list", "archive list --tenant contoso --from 2026-11-01 --json",
					"archive list --tenant contoso --versions"),
			Flags: append(append(fleetFlags(), archiveFlags()...), tableFlag(),
				boolFlag("versions", "List the versions of a table instead of days"), listFlags()[0], listFlags()[1]),
			Action: archiveList,
		}, {
			Name:  "files",
			Usage: "Print the files of a table as it is now, for tools that cannot read Delta",
			Description: `Files that left the table stay for a day beside those that replace them, so reading all that are in a folder
counts readings twice: read the table, or these files.` +
				examples("archive files --tenant contoso --from -7d", "archive files --tenant contoso --table rollups-1h --json"),
			Flags: append(append(fleetFlags(), archiveFlags()...),
				tableFlag(), listFlags()[0], listFlags()[1]),
			Action: archiveFiles,
		}, archiveDownloadCommand(), archiveCopyCommand(), {
			Name:  "verify",
			Usage: "Count the tables, and compare them with their files and with storage",
			Description: `Compares the rows of days with those of their files, and with the rows that the fleet has counted in the last days,
without reading a file. With --files it also lists the container: files that are missing, or that belong to nothing.
With --readings it reads all files, or those of the days from --from to --to, and compares each value with the readings
in storage, and rollups and reports with the readings. A day that is being made again can seem wrong. Columns of sites
and labels are not compared: they say what a device had when its file was made.` +
				examples("archive verify", "archive verify --files", "archive verify --tenant contoso --from -7d --readings"),
			Flags: append(append(fleetFlags(), archiveFlags()...),
				boolFlag("files", "Compare files with the container, too"),
				boolFlag("readings", "Compare each value with the readings in storage, too"), jsonFlag()),
			Action: stoppable(archiveVerify),
		}, {
			Name:  "rewrite",
			Usage: "Make some days again",
			Description: `Reads the readings of whole days from storage and replaces what the tables have of them. Workers do this by
themselves when readings come late; use it after files were damaged. Of days that are still open, it makes the hours
that are over, where the archive has files of hours.

With --log, it leaves days and files as they are, and publishes the tables of a tenant as new logs: after another
program wrote into one, after a restore, or where parts of a log were deleted. Readers see the whole table
afterwards; a reader that is at an earlier version fails, and begins again.` +
				examples("archive rewrite --tenant contoso --from 2026-11-20 --to 2026-11-22",
					"archive rewrite --tenant contoso --log"),
			Flags: append(append(fleetFlags(), archiveFlags()...),
				boolFlag("log", "Publish the tables of --tenant as new logs, and make no days"), jsonFlag()),
			Action: stoppable(archiveRewrite),
		}},
	}
}

func tableFlag() cli.Flag {
	return &cli.StringFlag{Name: "table", Value: archive.ReadingsTable, Usage: "`TABLE` of the tenant, such as rollups-1h"}
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
	to     tables.Ticks // they begin before it
}

func archiveScopeOf(c *cli.Context) (s archiveScope, err error) {
	if s.tenant, err = parsed(c, "tenant", schema.ParseTenant); err != nil {
		return s, err
	}
	from := c.String("from")
	if from == "" {
		from = tables.Ticks(0).String()
	}
	span, err := spanOf(c, from, c.String("to"), 0)
	s.from, s.to = schema.DayOf(span.From), span.To
	return s, err
}

// last returns the last day.
func (s archiveScope) last() schema.Day { return schema.DayOf(s.to - 1) }

// archiveLine is what the archive has of a tenant's day, in JSON.
type archiveLine struct {
	Tenant   schema.Tenant `json:"tenant" column:"tenant"`
	Date     string        `json:"date" column:"date"`
	Files    int           `json:"files" column:"files"`
	Readings int64         `json:"readings" column:"readings"`
	Rollups  int64         `json:"rollups,omitempty" column:"rollups"` // rows of all tables of rollups
	Reports  int64         `json:"reports,omitempty" column:"reports"` // rows of all tables of reports
	Bytes    int64         `json:"bytes" column:"bytes"`
	// the day is not over: there are the hours that are
	Open bool `json:"open,omitempty" column:"open"`
	// every reading that storage had accepted then is in the tables
	Watermark time.Time `json:"watermark,omitzero" column:"watermark"`
}

func archiveLineOf(d archive.HeldDay) archiveLine {
	line := archiveLine{Tenant: d.Tenant, Date: d.Day.String(), Files: d.Files, Readings: d.Readings, Rollups: d.Rollups,
		Reports: d.Reports, Bytes: d.Bytes, Open: d.Watermark == 0}
	if !line.Open {
		line.Watermark = d.Watermark.Time()
	}
	return line
}

func (s archiveScope) days(ctx context.Context, has archive.Contents) iter.Seq2[archive.HeldDay, error] {
	return func(yield func(archive.HeldDay, error) bool) {
		for t, err := range tenantsIn(s.tenant, has.Tenants(ctx)) {
			if err != nil {
				yield(archive.HeldDay{}, err)
				return
			}
			days, err := has.Held(ctx, t, s.from, s.last())
			if err != nil {
				yield(archive.HeldDay{}, err)
				return
			}
			for _, d := range days {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

// openArchive returns the tables of the archive and the days of a command.
func openArchive(c *cli.Context) (has *archive.Tables, scope archiveScope, f *roles.Fleet, err error) {
	if scope, err = archiveScopeOf(c); err != nil {
		return nil, scope, nil, err
	}
	if f, _, err = openFleet(c); err != nil {
		return nil, scope, nil, err
	}
	if f.Archive == nil {
		return nil, scope, nil, errNoArchive
	}
	if has, err = archivist(f); err != nil { // there may be tables of a former configuration
		has = &archive.Tables{Contents: archive.Contents{Store: f.Archive,
			Catalog: catalog.New(f.Tables.Table(f.Names.Catalog()))}}
	}
	return has, scope, f, nil
}

func archiveList(c *cli.Context) error {
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	if c.Bool("versions") {
		return archiveVersions(c, has.Contents, scope, f)
	}
	if c.IsSet("table") {
		return usagef(c, "--table needs --versions: a day counts all tables; furrow archive files lists the files of one")
	}
	err = answer(c, query.Mapped(scope.days(c.Context, has.Contents), archiveLineOf), func() (string, error) {
		return "the archive has nothing of these days", knownTenant(c, f.Reader().Devices(), scope.tenant)
	})
	return cmp.Or(err, noteArchiveWaits(c, f))
}

// noteArchiveWaits tells how many days wait to be made, of all tenants.
func noteArchiveWaits(c *cli.Context, f *roles.Fleet) error {
	for _, p := range f.Pipelines {
		if !slices.ContainsFunc(p.Processors, isArchive) {
			continue
		}
		s, err := f.Reader().Progress().Status(c.Context, p.Name, p.Cadence, f.Queue(p), query.RecentRuns)
		if err != nil {
			return err
		}
		if waits := statusOf(p, s, 0).waitingText(); waits != "" {
			fmt.Fprintf(c.App.ErrWriter, "furrow: %s\n", waits)
		}
	}
	return nil
}

func archiveFiles(c *cli.Context) error {
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	if scope.tenant == "" {
		return usagef(c, "--tenant is required: each tenant has a table of its own")
	}
	all := has.Files(c.Context, scope.tenant, c.String("table"), scope.from, scope.last())
	return answer(c, query.Mapped(all, model.ArchiveFileOf), func() (string, error) {
		return "the table has nothing of these days", knownTable(c, has.Contents, f, scope.tenant)
	})
}

// knownTable returns an error if a tenant does not exist, or has no table of the name that is asked for. That of
// readings is made late.
func knownTable(c *cli.Context, has archive.Contents, f *roles.Fleet, tenant schema.Tenant) error {
	name := c.String("table")
	if err := knownTenant(c, f.Reader().Devices(), tenant); err != nil || name == "" || name == archive.ReadingsTable {
		return err
	}
	all, err := has.Catalog.Tables(c.Context, tenant)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return nil
		}
		names = append(names, t.Name)
	}
	return fmt.Errorf("tenant %s has no table %q%s", tenant, name, cmp.Or(didYouMean(name, names, ""),
		"; it has "+cmp.Or(strings.Join(names, ", "), "none yet")))
}

var errNoArchive = errors.New("the storage account has no Blob endpoint, and so no archive")

// archivist returns what makes the archive's tables.
func archivist(f *roles.Fleet) (*archive.Tables, error) {
	if f.Archive == nil {
		return nil, errNoArchive
	}
	for _, p := range f.Pipelines {
		if !slices.ContainsFunc(p.Processors, isArchive) {
			continue
		}
		built, err := f.Jobs(p)
		if err != nil {
			return nil, err
		}
		return built.Groups[schema.ArchiveMark].(*archive.Tables), nil
	}
	return nil, fmt.Errorf("no pipeline has the processor %s; see furrow config show", archive.Processor.Name)
}
