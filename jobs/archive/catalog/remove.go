package catalog

import (
	"context"
	"crypto/rand"
	"errors"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// errMadeAgain says that a table that was removed is there again.
var errMadeAgain = errors.New("the table was made again meanwhile")

// errHasFiles says that a table is not empty.
var errHasFiles = errors.New("the table has files")

// RemoveEmpty removes a table, as Remove does, unless it has live files.
func (t *Table) RemoveEmpty(ctx context.Context, objects Container) error {
	err := t.removeIf(ctx, objects, t.empty)
	if errors.Is(err, errHasFiles) {
		return nil
	}
	return err
}

// empty returns errHasFiles if the table has live files. Whoever commits one afterwards has changed the head.
func (t *Table) empty(ctx context.Context) error {
	for _, err := range t.AllFiles(ctx) {
		if err == nil {
			err = errHasFiles
		}
		return err
	}
	return nil
}

// Remove ends a table, as the removal of its tenant does. From its first step on, nobody commits anything to it. Its
// files leave it with versions that are published, so readers see it become empty; then its log, its columns and its
// names go. What is left says which version was the last: versions never begin again in a folder.
//
// Repeated, it does what is left. Clean and CleanLog have to be called daily for thirty days from then on: machines
// that stood still may put blobs until somebody looks.
func (t *Table) Remove(ctx context.Context, objects Container) error {
	return t.removeIf(ctx, objects, func(context.Context) error { return nil })
}

func (t *Table) removeIf(ctx context.Context, objects Container, may func(context.Context) error) error {
	err := t.remove(ctx, objects, may)
	if errors.Is(err, ErrAbsent) || errors.Is(err, errMadeAgain) { // Create has finished what was left
		return nil
	}
	return t.wrap("removing it", err)
}

func (t *Table) remove(ctx context.Context, objects Container, may func(context.Context) error) error {
	if err := t.raiseEpoch(ctx, may); err != nil {
		return err
	}
	if err := t.endFiles(ctx); err != nil {
		return err
	}
	if err := t.publishRemoved(ctx, objects); err != nil {
		return err
	}
	if err := t.endRows(ctx); err != nil {
		return err
	}
	if err := t.endLog(ctx); err != nil {
		return err
	}
	return errors.Join(t.clean(ctx, objects), t.cleanLog(ctx, objects, 0))
}

// raiseEpoch raises the epoch, and has the head say that the table was removed, if it may be: what that looks at has
// not changed then.
func (t *Table) raiseEpoch(ctx context.Context, may func(context.Context) error) error {
	return commit.RetryIf(ctx, manyTries, commit.IsChanged, func() error {
		h, err := t.anyHead(ctx)
		if err != nil || h.removed {
			return err
		}
		if err := may(ctx); err != nil {
			return err
		}
		h.epoch++
		h = head{version: h.version, epoch: h.epoch, etag: h.etag}
		e := t.moved(h).Entity
		e.Set("Created", tables.Int64(0))
		e.Set("Fixed", tables.String("[]"))
		e.Set("Removed", tables.Boolean(true))
		_, err = t.rows.Submit(ctx, []tables.Op{tables.Replace(e, h.etag), tables.Delete(t.key, columnsRow,
			tables.AnyETag)})
		return err
	})
}

// removedHead returns the head of a table that is removed, and errMadeAgain if it is no longer. All changes that a
// removal makes have it in their transaction: so a machine that stood still changes nothing of a table that was made
// again.
func (t *Table) removedHead(ctx context.Context) (head, error) {
	h, err := t.anyHead(ctx)
	if err == nil && !h.removed {
		err = errMadeAgain
	}
	return h, err
}

// endFiles removes all files that are live or pending, with as many versions as that takes.
func (t *Table) endFiles(ctx context.Context) error {
	if err := t.endPending(ctx, func(tables.Entity) bool { return true }, true); err != nil {
		return err
	}
	for {
		h, err := t.removedHead(ctx)
		if err != nil {
			return err
		}
		ops, err := t.emptying(ctx, h)
		if err != nil || len(ops) == 0 {
			return err
		}
		if _, err := t.rows.Submit(ctx, ops); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
}

// emptying returns a transaction that removes files of a removed table, or none.
func (t *Table) emptying(ctx context.Context, h head) (ops []tables.Op, err error) {
	h.version++
	v := version{txn: rand.Text(), why: "removed", Version: delta.Version{Info: delta.Info{Timestamp: millis(h.now),
		Operation: "DELETE"}}}
	for f, err := range t.AllFiles(ctx) {
		if err != nil {
			return nil, err
		}
		if len(ops)+2 > tables.MaxOps-2 { // of the head and the version
			break
		}
		r := &removed{File: f, version: h.version, at: millis(h.now), due: true}
		op, err := t.writeRemoved(r)
		if err != nil {
			return nil, err
		}
		ops = append(ops, tables.Delete(t.key, f.row(), f.etag), op)
		v.Removed, v.rowsGone = append(v.Removed, r.remove()), v.rowsGone+f.Stats.Rows
	}
	if len(ops) == 0 {
		return nil, nil
	}
	row, err := t.versionRow(h.version, &v)
	return append(ops, t.moved(h), tables.Insert(row)), err
}

// publishRemoved publishes the versions of a table that was removed. A log that others write into is left as it is:
// it goes anyway.
func (t *Table) publishRemoved(ctx context.Context, to Objects) error {
	_, err := t.publishAs(ctx, to, t.removedHead)
	if errors.Is(err, ErrForeign) {
		return nil
	}
	return err
}

// endRows deletes the rows that a removed table no longer needs, and what its removed files say of devices.
func (t *Table) endRows(ctx context.Context) error {
	if err := t.endFiles(ctx); err != nil {
		return err
	}
	for _, kind := range []string{dayRows, columnRows, versionRows} {
		if err := t.deleteRows(ctx, kind); err != nil {
			return err
		}
	}
	h, err := t.removedHead(ctx)
	if err != nil {
		return err
	}
	return t.endAll(ctx, h.version)
}

func (t *Table) deleteRows(ctx context.Context, kind string) error {
	q := t.query(kind)
	q.Select = []string{"PartitionKey", "RowKey", "Timestamp"}
	for {
		h, err := t.removedHead(ctx)
		if err != nil {
			return err
		}
		ops := []tables.Op{t.moved(h)}
		for e, err := range t.rows.Entities(ctx, q) {
			if err != nil {
				return err
			}
			if ops = append(ops, tables.Delete(t.key, e.RowKey, tables.AnyETag)); len(ops) == tables.MaxOps {
				break
			}
		}
		if len(ops) == 1 {
			return nil
		}
		if _, err := t.rows.Submit(ctx, ops); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
}

// endLog notes that the log is over, and until when blobs may come that nobody knows.
func (t *Table) endLog(ctx context.Context) error {
	return commit.RetryIf(ctx, commit.Tries, commit.IsChanged, func() error {
		p, errRead := t.published(ctx)
		h, errHead := t.removedHead(ctx) // after p: so a table that was made again has replaced that
		if err := errors.Join(errRead, errHead); err != nil {
			return err
		}
		over := published{version: h.version, at: h.now, checkpoint: -1, ended: h.version + 1,
			listed: h.now + listedFor, etag: p.etag}
		return t.save(ctx, &over)
	})
}

// emptyLog deletes the log of a table that was removed. Whatever number it has is behind the head from then on.
func (t *Table) emptyLog(ctx context.Context, objects Lister, h head) error {
	var all []string
	newest := h.version
	for one, err := range objects.List(ctx, t.Folder()+delta.LogFolder) {
		if err != nil {
			return err
		}
		n, is := delta.VersionOf(one.Name[len(t.Folder()):])
		if is {
			newest = max(newest, n)
		}
		all = append(all, one.Name)
	}
	if newest > h.version { // of somebody else
		h.version = newest
		if _, err := t.rows.Do(ctx, t.moved(h)); err != nil {
			return err
		}
	}
	if now, err := t.removedHead(ctx); len(all) == 0 || err != nil || now.version < newest {
		return err
	}
	for _, name := range all {
		if err := objects.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// unlist takes a table that was removed out of the list of tables, once nobody puts blobs into its folder any more:
// the list names its tenant. Create reads the head, lists the table, and changes the head. Here the row of the list
// is read before the head changes, and deleted then, on its version: so no table that Create makes is missing in the
// list.
func (t *Table) unlist(ctx context.Context) error {
	row := t.listing()
	listed, err := t.rows.Get(ctx, row.PartitionKey, row.RowKey)
	if err != nil {
		return gone(tables.Written{}, err)
	}
	h, err := t.removedHead(ctx)
	if errors.Is(err, errMadeAgain) {
		return nil
	}
	if err == nil {
		_, err = t.rows.Do(ctx, t.moved(h))
	}
	if err == nil {
		_, err = t.rows.Do(ctx, tables.Delete(row.PartitionKey, row.RowKey, listed.ETag))
	}
	return gone(tables.Written{}, err)
}
