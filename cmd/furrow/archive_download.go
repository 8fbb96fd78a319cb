package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/tables/schema"
)

func archiveDownloadCommand() *cli.Command {
	return &cli.Command{
		Name:      "download",
		Usage:     "Keep the files of a tenant's tables in a directory of this machine",
		ArgsUsage: "DIR",
		Description: `Writes the Parquet files of each table as it is now to DIR/TENANT/TABLE/date=DAY. Repeat the command: it downloads
what is new, and deletes the files of DIR that left their tables, so that no reading is there twice. Without a key of
the account, programs get the same files from the dashboard, at /v1/archive/files (see furrow help pages).` + examples(
			"archive download ./archive --tenant contoso",
			"archive download ./archive --tenant contoso --table rollups-1h --from -30d"),
		Flags: append(append(fleetFlags(), archiveFlags()...),
			&cli.StringFlag{Name: "table", DefaultText: "all", Usage: "Files of `TABLE` only, such as rollups-1h"}, jsonFlag()),
		Action: stoppable(archiveDownload),
	}
}

// downloadedLine is what archive download has done, in JSON.
type downloadedLine struct {
	Tenant    schema.Tenant `json:"tenant"`
	Directory string        `json:"directory"`
	Files     int64         `json:"files"` // of the tables
	Bytes     int64         `json:"bytes"` // of these files
	Written   int64         `json:"written"`
	Deleted   int64         `json:"deleted"` // that left their tables
}

func archiveDownload(c *cli.Context) error {
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	if scope.tenant == "" {
		return usagef(c, "--tenant is required: each tenant has tables of its own")
	}
	d := &download{store: f.Archive, scope: scope, work: newLongWork(c),
		line: downloadedLine{Tenant: scope.tenant, Directory: c.Args().First()}}
	names, err := d.folders()
	if err != nil {
		return err
	}
	tables, err := has.TablesWith(c.Context, scope.tenant, names)
	if err != nil {
		return err
	}
	d.work.begin("downloading the tables of " + string(scope.tenant))
	n := 0
	for _, t := range tables {
		if only := c.String("table"); only != "" && only != t.Name {
			continue
		}
		n++
		if err := d.table(c.Context, has.Contents, t.Name, t.Folder()); err != nil {
			return d.work.ended(err, "what is downloaded stays: run the same command again to continue")
		}
	}
	if n == 0 {
		if err := knownTable(c, has.Contents, f, scope.tenant); err != nil {
			return err
		}
	}
	d.line.Written = d.written.Load()
	return printLine(c, d.line, fmt.Sprintf("%s of %s in %s (%s), %s written, %s deleted", many(d.line.Files, "file"),
		many(int64(n), "table"), d.line.Directory, humanize.IBytes(uint64(d.line.Bytes)), grouped(d.line.Written),
		grouped(d.line.Deleted)))
}

// A download keeps files of the archive in a directory.
type download struct {
	store   *archive.Store
	scope   archiveScope
	work    *longWork
	line    downloadedLine
	written atomic.Int64
}

// partSuffix is that of files that are not complete yet.
const partSuffix = ".part"

// downloadsAtOnce is how many files come at a time.
const downloadsAtOnce = 4

// table downloads what is missing of a table, and then deletes what has left it.
func (d *download) table(ctx context.Context, has archive.Contents, name, folder string) error {
	live := map[string]bool{}
	some, within := errgroup.WithContext(ctx)
	some.SetLimit(downloadsAtOnce)
	for f, err := range has.Files(ctx, d.scope.tenant, name, d.scope.from, d.scope.last()) {
		if err != nil {
			return err
		}
		to := d.path(f.Path)
		live[to], d.line.Files, d.line.Bytes = true, d.line.Files+1, d.line.Bytes+f.Bytes
		if found, err := os.Stat(to); err == nil && found.Size() == f.Bytes {
			continue
		}
		some.Go(func() error { return d.file(within, f.Path, to) })
	}
	if err := some.Wait(); err != nil {
		return err
	}
	return filepath.WalkDir(d.path(folder), func(at string, e fs.DirEntry, err error) error {
		name, interrupted := strings.CutSuffix(at, partSuffix)
		if err != nil || e.IsDir() || live[at] || !strings.HasSuffix(name, ".parquet") || !d.covers(filepath.Dir(at)) {
			return ignoreAbsent(err)
		}
		if !interrupted {
			d.line.Deleted++
		}
		return os.Remove(at)
	})
}

// folders returns the names of the folders that the directory has for the tenant.
func (d *download) folders() (names []string, err error) {
	all, err := os.ReadDir(d.path(delta.Folder(string(d.scope.tenant))))
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names, ignoreAbsent(err)
}

func (d *download) path(blob string) string {
	return filepath.Join(d.line.Directory, filepath.FromSlash(blob))
}

// covers reports whether a folder is that of a day of the command.
func (d *download) covers(folder string) bool {
	day, err := schema.ParseDay(strings.TrimPrefix(filepath.Base(folder), "date="))
	return err == nil && day >= d.scope.from && day <= d.scope.last()
}

func (d *download) file(ctx context.Context, name, to string) error {
	content, _, err := d.store.Read(ctx, name)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	part, err := os.Create(to + partSuffix)
	if err != nil {
		return err
	}
	if _, err = io.Copy(part, content); err != nil {
		part.Close()
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	d.work.reached(d.work.speed(d.written.Add(1), "file"))
	return os.Rename(to+partSuffix, to)
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
