package catalog

import (
	"context"
	"crypto/rand"
	"errors"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// Pend returns a new file of a day, whose blob may be put. Until a commit makes it a live one, cleaning, an erasure or
// Abandon may end it: then its commit fails.
func (t *Table) Pend(ctx context.Context, day schema.Day) (File, error) {
	f := File{Date: day, Name: rand.Text()}
	e := t.entity(pendingRows + f.Name)
	e.Set("Date", tables.String(day.String()))
	written, err := t.rows.Do(ctx, tables.Insert(e))
	if err != nil {
		return f, t.wrap("a file about to be put", err)
	}
	f.etag = written.ETags[0]
	return f, nil
}

// Abandon has the blobs of files deleted that a job has put, or may put, and does not commit: at once, since it may
// have begun before an erasure.
func (t *Table) Abandon(ctx context.Context, files []File) error {
	for i := range files {
		f := &files[i]
		op, err := (&removed{File: File{Date: f.Date, Name: f.Name}, due: true}).write(t.partition)
		if err != nil {
			return t.wrap("abandoning a file", err)
		}
		_, err = t.rows.Submit(ctx, []tables.Op{tables.Delete(t.key, pendingRows+f.Name, f.etag), op})
		switch {
		case err == nil || errors.Is(err, tables.ErrExists): // it was abandoned before
		case errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrConflict):
			// It was ended by others, who may have deleted its blob before that was put: then it is deleted once more. Or it
			// was committed, and nobody heard of it.
			_, err := t.rows.Get(ctx, t.key, f.row())
			if errors.Is(err, tables.ErrNotFound) {
				_, err = t.rows.Do(ctx, tables.InsertOrReplace(op.Entity))
			}
			if err != nil {
				return t.wrap("abandoning a file", err)
			}
		default:
			return t.wrap("abandoning a file", err)
		}
	}
	return nil
}

// endPending ends what is pending and wanted: its blobs are due.
func (p *partition) endPending(ctx context.Context, wanted func(tables.Entity) bool, due bool) error {
	for e, err := range p.rows.Entities(ctx, p.query(pendingRows)) {
		if err != nil {
			return err
		}
		if !wanted(e) {
			continue
		}
		name, err := parse(e.RowKey, pendingRows, 1)
		if err != nil {
			return err
		}
		day, err := schema.ParseDay(e.Get("Date").Text())
		if err != nil {
			return err
		}
		op, err := (&removed{File: File{Date: day, Name: name[0]}, due: due}).write(p)
		if err != nil {
			return err
		}
		_, err = p.rows.Submit(ctx, []tables.Op{tables.Delete(p.key, e.RowKey, e.ETag), op})
		if err != nil && !errors.Is(err, tables.ErrNotFound) && !errors.Is(err, tables.ErrExists) &&
			!errors.Is(err, tables.ErrConflict) { // committed or ended meanwhile
			return err
		}
	}
	return nil
}

// endAll has the blobs of all files deleted that left with a version or before it, and drops what their rows say of
// devices, whatever cleaning does with them meanwhile.
func (p *partition) endAll(ctx context.Context, version int64) error {
	return commit.RetryIf(ctx, commit.Tries, isConflict, func() error {
		for r, err := range read(ctx, p, p.query(removedRows), removedOf) {
			if err != nil {
				return err
			}
			if r.due || r.version > version {
				continue
			}
			r.due = true
			op, err := r.write(p)
			if err == nil {
				_, err = p.rows.Do(ctx, tables.Merge(op.Entity, r.etag))
			}
			if err != nil && !errors.Is(err, tables.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}
