package catalog

import (
	"context"
	"errors"

	"furrow/tables"
)

// grace is how long the blobs of files stay at least that left a table, after the log says so: readers may have them
// open. It
// is also how long a job may take between naming a file and committing it, and when a blob is deleted for a second
// time: a request to put it may have been on its way.
const grace = tables.Day

// Clean ends what jobs have left pending, and deletes the blobs of files that left the table a day ago, or longer
// where earlier versions are kept.
func (t *Table) Clean(ctx context.Context, objects Objects) error {
	return t.wrap("cleaning", t.clean(ctx, objects))
}

func (t *Table) clean(ctx context.Context, objects Objects) error {
	p, err := t.published(ctx)
	if err != nil {
		return err
	}
	h, err := t.anyHead(ctx)
	if err != nil {
		return err
	}
	old := func(e tables.Entity) bool { return e.Timestamp < h.now-grace }
	if err := t.endPending(ctx, old, false); err != nil {
		return err
	}
	var all []removed
	left := map[string]bool{} // with a version
	for e, err := range t.rows.Entities(ctx, t.query(removedRows)) {
		if err != nil {
			return err
		}
		r, err := removedOf(e)
		if err != nil {
			return err
		}
		left[r.Name] = left[r.Name] || r.version > 0
		all = append(all, r)
	}
	for _, r := range all {
		if r.version == 0 && left[r.Name] { // given up by a job that did not hear of its commit
			if err := gone(t.rows.Do(ctx, tables.Delete(t.key, r.key, r.etag))); err != nil {
				return err
			}
			continue
		}
		due := r.due || r.version == 0 && r.written < h.now-grace ||
			r.version > 0 && p.before(r.version, h.now-grace) && r.at <= millis(h.now)-t.Kept.Milliseconds()
		if r.deleted != 0 {
			due = r.deleted < h.now-grace
		}
		if !due {
			continue
		}
		if err := t.delete(ctx, objects, &r, h.now); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the blob of a file that was removed: for the first time, or again, and then forgets it. A live file
// is left alone: a job may have abandoned one whose commit it did not hear of.
func (t *Table) delete(ctx context.Context, objects Objects, r *removed, now tables.Ticks) error {
	_, err := t.rows.Get(ctx, t.key, r.File.row())
	if err != nil && !errors.Is(err, tables.ErrNotFound) {
		return err
	}
	if live := err == nil; !live {
		if err := objects.Delete(ctx, t.Path(&r.File)); err != nil {
			return err
		}
		if r.deleted == 0 {
			e := t.entity(r.key)
			e.Set("Deleted", tables.Int64(int64(now)))
			return gone(t.rows.Do(ctx, tables.Merge(e, r.etag)))
		}
	}
	return gone(t.rows.Do(ctx, tables.Delete(t.key, r.key, r.etag)))
}

// gone passes over a row that another has changed or deleted.
func gone(_ tables.Written, err error) error {
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrConflict) {
		return nil
	}
	return err
}

// Unclean reports whether a table has to be cleaned again: it has files that are pending, or whose blobs are to be
// deleted, or its folder is listed daily since an erasure.
func (t *Table) Unclean(ctx context.Context) (bool, error) {
	p, err := t.published(ctx)
	if err == nil && p.listed > 0 {
		h, err := t.anyHead(ctx)
		if err != nil || h.removed || h.now < p.listed {
			return err == nil, t.wrap("looking for what is to be cleaned", err)
		}
	}
	if err != nil {
		return false, t.wrap("looking for what is to be cleaned", err)
	}
	for _, prefix := range []string{pendingRows, removedRows} {
		q := t.query(prefix)
		q.Size = 1
		for _, err := range t.rows.Entities(ctx, q) {
			return err == nil, t.wrap("looking for what is to be cleaned", err)
		}
	}
	return false, nil
}
