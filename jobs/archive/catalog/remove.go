package catalog

import (
	"cmp"
	"context"
	"errors"

	"furrow/jobs/commit"
	"furrow/tables"
)

// errMadeAgain says that a table that was removed is there again.
var errMadeAgain = errors.New("the table was made again meanwhile")

// errHasFiles says that a table is not empty.
var errHasFiles = errors.New("the table has files")

// RemoveEmpty ends a table, as the removal of its tenant does, unless it has live files. From its first step on, nobody
// commits anything to it. Its log, its columns and its names go. What is left says which version was the last: versions
// never begin again in a folder.
//
// Repeated, it does what is left. Clean and CleanLog have to be called daily for thirty days from then on: machines
// that stood still may put blobs until somebody looks.
func (t *Table) RemoveEmpty(ctx context.Context, c Container) error {
	return (&removal{t}).run(ctx, c)
}

// A removal is the removal of a table, or what is left of one.
type removal struct{ *Table }

func (r *removal) run(ctx context.Context, c Container) error {
	steps := []func(context.Context) error{r.begin, r.endFiles, r.Log(c).publishRemoved, r.endRows, r.endLog,
		r.Cleaner(c).cleanAll}
	for _, step := range steps {
		switch err := step(ctx); {
		case errors.Is(err, ErrAbsent), errors.Is(err, errMadeAgain), errors.Is(err, errHasFiles):
			return nil // of the second, Create has finished what was left
		case err != nil:
			return r.wrap("removing it", err)
		}
	}
	return nil
}

// begin raises the epoch, and has the head say that the table was removed, if it may be: it has no file then that was
// not seen, as who commits one changes the head.
func (r *removal) begin(ctx context.Context) error {
	return commit.RetryIf(ctx, manyTries, commit.IsChanged, func() error {
		h, err := r.anyHead(ctx)
		if err != nil || h.removed {
			return err
		}
		for _, err := range r.AllFiles(ctx) {
			return cmp.Or(err, errHasFiles)
		}
		h.epoch++
		h = head{version: h.version, epoch: h.epoch, etag: h.etag}
		e := h.move(r.partition).Entity
		e.Set("Created", tables.Int64(0))
		e.Set("Fixed", tables.String("[]"))
		e.Set("Removed", tables.Boolean(true))
		_, err = r.rows.Submit(ctx, []tables.Op{tables.Replace(e, h.etag), tables.Delete(r.key, columnsRow,
			tables.AnyETag)})
		return err
	})
}

// endFiles ends files that are pending.
func (r *removal) endFiles(ctx context.Context) error {
	return r.endPending(ctx, func(tables.Entity) bool { return true }, true)
}

// endRows deletes the rows that a removed table no longer needs, and what its removed files say of devices.
func (r *removal) endRows(ctx context.Context) error {
	if err := r.endFiles(ctx); err != nil {
		return err
	}
	for _, kind := range []string{dayRows, columnRows, versionRows} {
		if err := r.deleteRows(ctx, kind); err != nil {
			return err
		}
	}
	h, err := r.removedHead(ctx)
	if err != nil {
		return err
	}
	return r.endAll(ctx, h.version)
}

func (r *removal) deleteRows(ctx context.Context, kind string) error {
	q := r.query(kind)
	q.Select = []string{"PartitionKey", "RowKey", "Timestamp"}
	for {
		h, err := r.removedHead(ctx)
		if err != nil {
			return err
		}
		ops := []tables.Op{h.move(r.partition)}
		for e, err := range r.rows.Entities(ctx, q) {
			if err != nil {
				return err
			}
			if ops = append(ops, tables.Delete(r.key, e.RowKey, tables.AnyETag)); len(ops) == tables.MaxOps {
				break
			}
		}
		if len(ops) == 1 {
			return nil
		}
		if _, err := r.rows.Submit(ctx, ops); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
}

// endLog notes that the log is over, and until when blobs may come that nobody knows.
func (r *removal) endLog(ctx context.Context) error {
	return commit.RetryIf(ctx, commit.Tries, commit.IsChanged, func() error {
		p, errRead := r.published(ctx)
		h, errHead := r.removedHead(ctx) // after p: so a table that was made again has replaced that
		if err := errors.Join(errRead, errHead); err != nil {
			return err
		}
		over := published{version: h.version, at: h.now, checkpoint: -1, ended: h.version + 1,
			listed: h.now + listedFor, etag: p.etag}
		return r.save(ctx, &over)
	})
}
