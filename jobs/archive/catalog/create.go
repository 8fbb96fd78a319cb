package catalog

import (
	"context"
	"crypto/rand"
	"errors"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// Create makes a table with the columns that it has besides those of sensors, unless it exists. Files are partitioned
// by the column date.
//
// A table that was removed is made again: it has another id, and its versions go on where those of the old one ended,
// as readers and publishers that stand still may know these. Its log begins with its first version.
func (t *Table) Create(ctx context.Context, fixed []delta.Column) error {
	again := func(err error) bool { // somebody else's, or our own, whose answer was lost
		return commit.IsChanged(err) || errors.Is(err, errMadeAgain)
	}
	err := commit.RetryIf(ctx, commit.Tries, again, func() error {
		h, err := t.anyHead(ctx)
		if err == nil && !h.removed || err != nil && !errors.Is(err, ErrAbsent) {
			return err
		}
		if h.removed { // whoever removed it may have been killed
			if err := (&removal{Table: t}).endRows(ctx); err != nil {
				return err
			}
		}
		return t.create(ctx, fixed)
	})
	return t.wrap("making it", err)
}

// create makes the first version, as long as there is no table, or a removed one that has nothing any more.
func (t *Table) create(ctx context.Context, fixed []delta.Column) error {
	p, err := t.published(ctx)
	if err != nil {
		return err
	}
	old, err := t.anyHead(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrAbsent):
		return err
	case err == nil && !old.removed:
		return nil
	}
	at := millis(old.now)
	h := head{id: uuid(), created: at, fixed: fixed, epoch: old.epoch, etag: old.etag}
	first := version{txn: rand.Text(), Version: delta.Version{Begins: true}}
	first.Info.Operation, first.Info.Timestamp = "CREATE TABLE", at
	if old.removed {
		h.version = old.version + 1
	}
	if first.Metadata, err = t.metadata(ctx, &h); err != nil {
		return err
	}
	row, err := first.row(t.partition, h.version)
	if err != nil {
		return err
	}
	e, err := h.whole(t.partition)
	if err != nil {
		return err
	}
	count := t.entity(columnsRow)
	count.Set("Columns", tables.Int64(0))
	ops := []tables.Op{tables.Insert(e), tables.Insert(count), tables.Insert(row)}
	if old.removed {
		begun := published{version: h.version - 1, checkpoint: -1, ended: h.version, listed: p.listed, etag: p.etag}
		log, err := begun.write(t.partition)
		if err != nil {
			return err
		}
		ops = append(ops, log)
		ops[0] = tables.Replace(e, old.etag)
	}
	if _, err := t.rows.Do(ctx, tables.InsertOrReplace(t.listing())); err != nil {
		return err
	}
	_, err = t.rows.Submit(ctx, ops)
	return err
}
