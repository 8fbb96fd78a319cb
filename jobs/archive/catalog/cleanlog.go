package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// A Lister lists blobs.
type Lister interface {
	// List yields the names of the blobs in a folder and when they were written.
	List(ctx context.Context, folder string) iter.Seq2[Listed, error]
	Delete(ctx context.Context, name string) error
}

// A Listed is one blob.
type Listed struct {
	Name    string
	Bytes   int64
	Written time.Time
}

// EndVersions ends all versions but the newest, as an erasure must: it publishes what there is, has readers begin
// there, and deletes what the log and the catalog have of earlier ones. A publisher that stood still may put one
// again: CleanLog deletes that, too, whenever it comes.
func (t *Table) EndVersions(ctx context.Context, to Objects, all Lister) error {
	var p published
	err := commit.RetryIf(ctx, commit.Tries, isConflict, func() error {
		newest, err := t.Publish(ctx, to)
		if err == nil {
			err = t.Checkpoint(ctx, to, true)
		}
		if err == nil {
			p, err = t.published(ctx)
		}
		if err != nil {
			return err
		}
		if p.checkpoint < newest { // another erasure has begun meanwhile
			return tables.ErrConflict
		}
		h, err := t.head(ctx)
		if err != nil {
			return err
		}
		p.ended, p.listed = p.checkpoint, h.now+listedFor
		return t.save(ctx, &p)
	})
	switch {
	case errors.Is(err, ErrForeign): // what the log says is not ours to end, but what it speaks of is
		h, errHead := t.head(ctx)
		return errors.Join(err, errHead, t.wrap("ending its files", t.endAll(ctx, h.version)))
	case err != nil:
		return t.wrap("ending its versions", err)
	}
	return errors.Join(t.wrap("ending its files", t.endAll(ctx, p.ended)), t.CleanLog(ctx, all, 0))
}

func isConflict(err error) bool { return errors.Is(err, tables.ErrConflict) }

// endAll has the blobs of all files deleted that left with a version or before it, and drops what their rows say of
// devices, whatever cleaning does with them meanwhile.
func (t *Table) endAll(ctx context.Context, version int64) (err error) {
	return commit.RetryIf(ctx, commit.Tries, isConflict, func() error { return t.endRemoved(ctx, version) })
}

func (t *Table) endRemoved(ctx context.Context, version int64) error {
	for e, err := range t.rows.Entities(ctx, t.query(removedRows)) {
		if err != nil {
			return err
		}
		r, err := removedOf(e)
		if err != nil {
			return err
		}
		if r.due || r.version > version {
			continue
		}
		r.due = true
		op, err := t.writeRemoved(&r)
		if err != nil {
			return err
		}
		if _, err := t.rows.Do(ctx, tables.Merge(op.Entity, r.etag)); err != nil && !errors.Is(err, tables.ErrNotFound) {
			return err
		}
	}
	return nil
}

// CleanLog deletes what readers of the log no longer need: versions and checkpoints below the newest checkpoint that
// were written so long ago or were ended, with what the catalog has of them. Nobody reads an earlier version of the
// table then. For thirty days after an erasure or a removal, it also deletes blobs that nobody knows.
func (t *Table) CleanLog(ctx context.Context, objects Lister, kept time.Duration) error {
	return t.wrap("cleaning its log", t.cleanLog(ctx, objects, kept))
}

func (t *Table) cleanLog(ctx context.Context, objects Lister, kept time.Duration) error {
	p, err := t.published(ctx)
	if err != nil {
		return err
	}
	h, err := t.anyHead(ctx)
	if err != nil {
		return err
	}
	if h.now < p.listed {
		if err := t.deleteStrays(ctx, objects); err != nil {
			return err
		}
		if h.removed {
			return t.emptyLog(ctx, objects, h)
		}
	}
	if h.removed && p.listed > 0 {
		return t.unlist(ctx)
	}
	if h.removed || p.checkpoint < 0 {
		return nil
	}
	before := h.now.Add(-kept)
	for one, err := range objects.List(ctx, t.Folder()+delta.LogFolder) {
		if err != nil {
			return err
		}
		n, is := delta.VersionOf(one.Name[len(t.Folder()):])
		if !is || n >= p.checkpoint || n >= p.ended && tables.TicksOf(one.Written) > before {
			continue
		}
		if err := objects.Delete(ctx, one.Name); err != nil {
			return err
		}
	}
	return t.forgetVersions(ctx, p, before)
}

// forgetVersions deletes the rows of versions that are published and below the checkpoint. One that is not published
// yet is never deleted, whatever it says.
func (t *Table) forgetVersions(ctx context.Context, p published, before tables.Ticks) error {
	last := min(p.version, p.checkpoint-1)
	if last < 0 {
		return nil
	}
	q := tables.Query{Select: []string{"PartitionKey", "RowKey", "Timestamp"}, Range: tables.RowsBetween(t.key,
		versionRow(0), versionRow(last))}
	for page, err := range t.rows.Rows(ctx, q) {
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			if e.Timestamp > before && e.RowKey >= versionRow(p.ended) {
				continue
			}
			_, err := t.rows.Do(ctx, tables.Delete(t.key, e.RowKey, tables.AnyETag))
			if err != nil && !errors.Is(err, tables.ErrNotFound) {
				return fmt.Errorf("row %s: %w", e.RowKey, err)
			}
		}
	}
	return nil
}
