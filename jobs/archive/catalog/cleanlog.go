package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// EndVersions ends all versions but the newest, as an erasure must: it publishes what there is, has readers begin
// there, and deletes what the log and the catalog have of earlier ones. A publisher that stood still may put one
// again: CleanLog deletes that, too, whenever it comes.
func (c *Cleaner) EndVersions(ctx context.Context) error {
	log, p := c.Log(c.objects), published{}
	err := commit.RetryIf(ctx, commit.Tries, isConflict, func() error {
		newest, err := log.Publish(ctx)
		if err == nil {
			err = log.Checkpoint(ctx, true)
		}
		if err == nil {
			p, err = c.published(ctx)
		}
		if err != nil {
			return err
		}
		if p.checkpoint < newest { // another erasure has begun meanwhile
			return tables.ErrConflict
		}
		h, err := c.head(ctx)
		if err != nil {
			return err
		}
		p.ended, p.listed = p.checkpoint, h.now+listedFor
		return c.save(ctx, &p)
	})
	switch {
	case errors.Is(err, ErrForeign): // what the log says is not ours to end, but what it speaks of is
		h, errHead := c.head(ctx)
		return errors.Join(err, errHead, c.wrap("ending its files", c.endAll(ctx, h.version)))
	case err != nil:
		return c.wrap("ending its versions", err)
	}
	return errors.Join(c.wrap("ending its files", c.endAll(ctx, p.ended)), c.CleanLog(ctx, 0))
}

func isConflict(err error) bool { return errors.Is(err, tables.ErrConflict) }

// CleanLog deletes what readers of the log no longer need: versions and checkpoints below the newest checkpoint that
// were written so long ago or were ended, with what the catalog has of them. Nobody reads an earlier version of the
// table then. For thirty days after an erasure or a removal, it also deletes blobs that nobody knows.
func (c *Cleaner) CleanLog(ctx context.Context, kept time.Duration) error {
	return c.wrap("cleaning its log", c.cleanLog(ctx, kept))
}

func (c *Cleaner) cleanLog(ctx context.Context, kept time.Duration) error {
	p, err := c.published(ctx)
	if err != nil {
		return err
	}
	h, err := c.anyHead(ctx)
	if err != nil {
		return err
	}
	if h.now < p.listed {
		if err := c.deleteStrays(ctx); err != nil {
			return err
		}
		if h.removed {
			return c.emptyLog(ctx, h)
		}
	}
	if h.removed && p.listed > 0 {
		return c.unlist(ctx)
	}
	if h.removed || p.checkpoint < 0 {
		return nil
	}
	before := h.now.Add(-kept)
	for one, err := range c.objects.List(ctx, c.Folder()+delta.LogFolder) {
		if err != nil {
			return err
		}
		n, is := delta.VersionOf(one.Name[len(c.Folder()):])
		if !is || n >= p.checkpoint || n >= p.ended && tables.TicksOf(one.Written) > before {
			continue
		}
		if err := c.objects.Delete(ctx, one.Name); err != nil {
			return err
		}
	}
	return c.forgetVersions(ctx, p, before)
}

// forgetVersions deletes the rows of versions that are published and below the checkpoint. One that is not published
// yet is never deleted, whatever it says.
func (c *Cleaner) forgetVersions(ctx context.Context, p published, before tables.Ticks) error {
	last := min(p.version, p.checkpoint-1)
	if last < 0 {
		return nil
	}
	q := tables.Query{Select: []string{"PartitionKey", "RowKey", "Timestamp"}, Range: tables.RowsBetween(c.key,
		versionRow(0), versionRow(last))}
	for page, err := range c.rows.Rows(ctx, q) {
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			if e.Timestamp > before && e.RowKey >= versionRow(p.ended) {
				continue
			}
			_, err := c.rows.Do(ctx, tables.Delete(c.key, e.RowKey, tables.AnyETag))
			if err != nil && !errors.Is(err, tables.ErrNotFound) {
				return fmt.Errorf("row %s: %w", e.RowKey, err)
			}
		}
	}
	return nil
}

// emptyLog deletes the log of a table that was removed. Whatever number it has is behind the head from then on.
func (c *Cleaner) emptyLog(ctx context.Context, h head) error {
	var all []string
	newest := h.version
	for one, err := range c.objects.List(ctx, c.Folder()+delta.LogFolder) {
		if err != nil {
			return err
		}
		n, is := delta.VersionOf(one.Name[len(c.Folder()):])
		if is {
			newest = max(newest, n)
		}
		all = append(all, one.Name)
	}
	if newest > h.version { // of somebody else
		h.version = newest
		if _, err := c.rows.Do(ctx, h.move(c.partition)); err != nil {
			return err
		}
	}
	if now, err := c.removedHead(ctx); len(all) == 0 || err != nil || now.version < newest {
		return err
	}
	for _, name := range all {
		if err := c.objects.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// unlist takes a table that was removed out of the list of tables, once nobody puts blobs into its folder any more:
// the list names its tenant. Create reads the head, lists the table, and changes the head. Here the row of the list
// is read before the head changes, and deleted then, on its version: so no table that Create makes is missing in the
// list.
func (c *Cleaner) unlist(ctx context.Context) error {
	row := c.listing()
	listed, err := c.rows.Get(ctx, row.PartitionKey, row.RowKey)
	if err != nil {
		return gone(tables.Written{}, err)
	}
	h, err := c.removedHead(ctx)
	if errors.Is(err, errMadeAgain) {
		return nil
	}
	if err == nil {
		_, err = c.rows.Do(ctx, h.move(c.partition))
	}
	if err == nil {
		_, err = c.rows.Do(ctx, tables.Delete(row.PartitionKey, row.RowKey, listed.ETag))
	}
	return gone(tables.Written{}, err)
}
