package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furrow/jobs/archive/delta"
	"furrow/tables/schema"
)

// Verify returns what is wrong with what the catalog says of a table: days whose files have other numbers of rows than
// the day. With a container, it also lists that: live files that are not there, or of another size, and blobs that no
// row knows. Nothing is wrong in a table that nobody works on; in one that somebody does, what changes meanwhile may
// seem wrong, so ask again. It reads no file.
func (t *Table) Verify(ctx context.Context, objects Container) (wrong []string, err error) {
	if _, err := t.head(ctx); err != nil {
		return nil, t.wrap("verifying it", err)
	}
	files, counted := map[string]File{}, map[schema.Day]int64{}
	for f, err := range t.AllFiles(ctx) {
		if err != nil {
			return nil, err
		}
		files[t.Path(&f)] = f
		counted[f.Date] += f.Stats.Rows
	}
	for d, err := range t.Days(ctx) {
		if err != nil {
			return nil, err
		}
		counted[d.Date] -= d.Rows
	}
	for _, day := range slices.Sorted(maps.Keys(counted)) {
		if n := counted[day]; n != 0 {
			wrong = append(wrong, fmt.Sprintf("%s: its files have %+d rows more than the day", day, n))
		}
	}
	if objects == nil {
		return wrong, nil
	}
	more, err := t.verifyObjects(ctx, objects, files)
	return append(wrong, more...), t.wrap("verifying it", err)
}

// verifyObjects compares live files with the container.
func (t *Table) verifyObjects(ctx context.Context, c Container, live map[string]File) (wrong []string, err error) {
	known := map[string]bool{}
	for _, prefix := range []string{pendingRows, removedRows} {
		for e, err := range t.rows.Entities(ctx, t.query(prefix)) {
			if err != nil {
				return nil, err
			}
			known[e.RowKey[strings.LastIndex(e.RowKey, schema.Separator)+1:]] = true
		}
	}
	missing := maps.Clone(live)
	for one, err := range c.List(ctx, t.Folder()) {
		if err != nil {
			return nil, err
		}
		below := strings.TrimPrefix(one.Name, t.Folder())
		f, is := live[one.Name]
		delete(missing, one.Name)
		name := strings.TrimSuffix(below[strings.LastIndex(below, "/")+1:], ".parquet")
		switch {
		case is && one.Bytes != f.Bytes:
			wrong = append(wrong, fmt.Sprintf("%s has %d bytes, and should have %d", one.Name, one.Bytes, f.Bytes))
		case is || known[name] || strings.HasPrefix(below, delta.LogFolder):
		default:
			wrong = append(wrong, one.Name+" belongs to no version: delete it, unless somebody else needs it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		wrong = append(wrong, name+" is not there")
	}
	return wrong, nil
}
