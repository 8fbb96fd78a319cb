package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"
)

// An ArchiveFilesQuery asks for the files of a table as it is now.
type ArchiveFilesQuery struct {
	ArchiveQuery
	Table string `query:"table"` // empty: readings
	Part
}

// ArchiveFiles is the answer of /v1/archive/files.
type ArchiveFiles struct {
	Bounds
	Rows []ArchiveFile `json:"rows"` // by day
	Extent
}

// An ArchiveFile is a Parquet file of a table.
type ArchiveFile struct {
	Path  string `json:"path" column:"path"` // in the container of the archive; /v1/archive/file takes it
	Date  string `json:"date" column:"date"`
	Rows  int64  `json:"rows" column:"rows"`
	Bytes int64  `json:"bytes" column:"bytes"`
}

// ArchiveFileOf returns a file of a table.
func ArchiveFileOf(f archive.HeldFile) ArchiveFile {
	return ArchiveFile{f.Path, f.Day.String(), f.Rows, f.Bytes}
}

// Files returns the files of a table, as far as ctx may see it. Files that left the table are not among them.
func (ar *Archives) Files(ctx context.Context, q ArchiveFilesQuery) (Export, error) {
	if err := ar.accounts.current(ctx); err != nil {
		return Export{}, err
	}
	tenant := scoped(ctx, q.Tenant)
	switch {
	case tenant == "":
		return Export{}, ofParam("tenant", queryErrorf("tenant is required: each has tables of its own"))
	case tenant == noTenant:
		return Export{}, &TenantError{q.Tenant}
	}
	cursor := ar.accounts.cursorFor("archive files", within(ctx), q.Asked)
	after, err := cursor.place(q.After)
	if err != nil {
		return Export{}, err
	}
	out := &ArchiveFiles{Bounds: Bounds{q.From, q.To, q.Limit}, Rows: []ArchiveFile{}}
	if q.From == nil || q.To == nil {
		out.From, out.To = nil, nil
	}
	place := func(f archive.HeldFile) string { return f.Day.String() + f.Path }
	return paging[archive.HeldFile, ArchiveFile]{
		records: func(yield func(archive.HeldFile, error) bool) {
			for f, err := range ar.files(ctx, schema.Tenant(tenant), q) {
				if (err != nil || place(f) > after) && !yield(f, err) {
					return
				}
				out.RowsRead++
			}
			if out.RowsRead == 0 && tenant != within(ctx) && !ar.accounts.index.hasTenant(tenant) {
				yield(archive.HeldFile{}, &TenantError{tenant})
			}
		},
		row:  func(f archive.HeldFile) (ArchiveFile, bool, error) { return ArchiveFileOf(f), true, nil },
		next: func(last archive.HeldFile) string { return cursor.text(place(last)) }}.export(out), nil
}

// files yields the files of a table in all accounts, by day and name.
func (ar *Archives) files(
	ctx context.Context, t schema.Tenant, q ArchiveFilesQuery,
) iter.Seq2[archive.HeldFile, error] {
	first, last := schema.Day(0), schema.DayOf(tables.MaxTicks)
	if q.From != nil {
		first = schema.DayOf(tables.TicksOf(*q.From))
	}
	if q.To != nil {
		last = schema.DayOf(tables.TicksOf(*q.To) - 1)
	}
	byDay := func(a, b archive.HeldFile) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Path, b.Path)) }
	return merged(ctx, ar.accounts, byDay, func(a *account) iter.Seq2[archive.HeldFile, error] {
		return a.archive().Files(ctx, t, cmp.Or(q.Table, archive.ReadingsTable), first, last)
	})
}

// File opens a file of the archive, and tells its size. It is ErrNoFile for one that ctx may not see.
func (ar *Archives) File(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	only := within(ctx)
	if only != "" && !strings.HasPrefix(name, delta.Folder(only)+"/") || !strings.HasSuffix(name, ".parquet") ||
		path.Clean(name) != name { // who reads it might take .. for a way out of the folder
		return nil, 0, ErrNoFile
	}
	for _, a := range ar.accounts.all {
		if a.Objects == nil {
			continue
		}
		content, size, err = a.Objects.Read(ctx, name)
		if !errors.Is(err, archive.ErrNoObject) && !errors.Is(err, archive.ErrNoContainer) {
			return content, size, err
		}
	}
	return nil, 0, ErrNoFile
}

// ErrNoFile means that the archive has no such file.
var ErrNoFile = fmt.Errorf("file of the archive: %w", ErrUnknown)
