package catalog

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
)

// grace is how long the blobs of files stay at least that left a table, after the log says so: readers may have them
// open. It is also how long a job may take between naming a file and committing it, and when a blob is deleted for a
// second time: a request to put it may have been on its way.
const grace = tables.Day

// A Cleaner deletes what a table no longer needs: blobs of files that have left it or never came, versions of its log
// that nobody reads, and what the catalog has of both.
type Cleaner struct {
	*partition
	objects Container
}

// Clean ends what jobs have left pending, and deletes the blobs of files that left the table a day ago, or longer
// where earlier versions are kept.
func (c *Cleaner) Clean(ctx context.Context, kept time.Duration) error {
	return c.wrap("cleaning", c.clean(ctx, kept))
}

func (c *Cleaner) clean(ctx context.Context, kept time.Duration) error {
	p, err := c.published(ctx)
	if err != nil {
		return err
	}
	h, err := c.anyHead(ctx)
	if err != nil {
		return err
	}
	old := func(e tables.Entity) bool { return e.Timestamp < h.now-grace }
	if err := c.endPending(ctx, old, false); err != nil {
		return err
	}
	var all []removed
	left := map[string]bool{} // with a version
	for r, err := range read(ctx, c.partition, c.query(removedRows), removedOf) {
		if err != nil {
			return err
		}
		left[r.Name] = left[r.Name] || r.version > 0
		all = append(all, r)
	}
	for _, r := range all {
		if r.version == 0 && left[r.Name] { // given up by a job that did not hear of its commit
			if err := gone(c.rows.Do(ctx, tables.Delete(c.key, r.key, r.etag))); err != nil {
				return err
			}
			continue
		}
		due := r.due || r.version == 0 && r.written < h.now-grace ||
			r.version > 0 && p.before(r.version, h.now-grace) && r.at <= millis(h.now)-kept.Milliseconds()
		if r.deleted != 0 {
			due = r.deleted < h.now-grace
		}
		if !due {
			continue
		}
		if err := c.delete(ctx, &r, h.now); err != nil {
			return err
		}
	}
	return nil
}

// cleanAll cleans a table that was removed.
func (c *Cleaner) cleanAll(ctx context.Context) error {
	return errors.Join(c.clean(ctx, 0), c.cleanLog(ctx, 0))
}

// delete deletes the blob of a file that was removed: for the first time, or again, and then forgets it. A live file
// is left alone: a job may have abandoned one whose commit it did not hear of.
func (c *Cleaner) delete(ctx context.Context, r *removed, now tables.Ticks) error {
	_, err := c.rows.Get(ctx, c.key, r.File.row())
	if err != nil && !errors.Is(err, tables.ErrNotFound) {
		return err
	}
	if live := err == nil; !live {
		if err := c.objects.Delete(ctx, c.Path(&r.File)); err != nil {
			return err
		}
		if r.deleted == 0 {
			e := c.entity(r.key)
			e.Set("Deleted", tables.Int64(int64(now)))
			return gone(c.rows.Do(ctx, tables.Merge(e, r.etag)))
		}
	}
	return gone(c.rows.Do(ctx, tables.Delete(c.key, r.key, r.etag)))
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
func (c *Cleaner) Unclean(ctx context.Context) (bool, error) {
	p, err := c.published(ctx)
	if err == nil && p.listed > 0 {
		h, err := c.anyHead(ctx)
		if err != nil || h.removed || h.now < p.listed {
			return err == nil, c.wrap("looking for what is to be cleaned", err)
		}
	}
	if err != nil {
		return false, c.wrap("looking for what is to be cleaned", err)
	}
	for _, prefix := range []string{pendingRows, removedRows} {
		q := c.query(prefix)
		q.Size = 1
		for _, err := range c.rows.Entities(ctx, q) {
			return err == nil, c.wrap("looking for what is to be cleaned", err)
		}
	}
	return false, nil
}
