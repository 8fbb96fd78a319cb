package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// Objects are the blobs of the archive.
type Objects interface {
	// Put replaces a version of a blob, or makes one where the version is empty. tables.ErrExists and tables.ErrConflict
	// say that another version is there. After any other error the blob may have been put.
	Put(ctx context.Context, name string, content []byte, on tables.ETag) error
	// Get returns a blob and its version, which is empty if there is none.
	Get(ctx context.Context, name string) ([]byte, tables.ETag, error)
	// Delete deletes a blob, if there is one.
	Delete(ctx context.Context, name string) error
}

// A Container has the blobs of the archive, and lists them.
type Container interface {
	Objects
	Lister
}

// Publish puts the versions that the log lacks into it, in order, each as it was committed. Any number of publishers
// may do that at the same time, and go on whenever they like. It returns the newest published version, and ErrForeign
// if the log has a version that is not from here: then nothing more is published.
func (t *Table) Publish(ctx context.Context, to Objects) (int64, error) {
	return t.publishAs(ctx, to, t.head)
}

func (t *Table) publishAs(ctx context.Context, to Objects, head readHead) (n int64, err error) {
	again := func(err error) bool { // another publisher has come further
		return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists)
	}
	err = commit.RetryIf(ctx, commit.Tries, again, func() error {
		p, err := t.publish(ctx, to, head)
		n = p.version
		if err == nil && p.ended > max(0, p.checkpoint) && p.version >= p.ended { // readers can only begin at a checkpoint
			err = t.Checkpoint(ctx, to, true)
		}
		return err
	})
	return n, t.wrap("its log", err)
}

// A readHead reads the head of a table in a state in which it can be published.
type readHead func(context.Context) (head, error)

func (t *Table) publish(ctx context.Context, to Objects, head readHead) (p published, err error) {
	if p, err = t.published(ctx); err != nil {
		return p, err
	}
	if p.foreign {
		return p, ErrForeign
	}
	h, err := head(ctx)
	if err != nil || p.version >= h.version {
		return p, err
	}
	q := tables.Query{Range: tables.RowsBetween(t.key, versionRow(p.version+1), versionRow(h.version))}
	next := p.version + 1
	for e, err := range t.rows.Entities(ctx, q) {
		if err != nil {
			return p, err
		}
		if e.RowKey != versionRow(next) {
			return p, fmt.Errorf("%w: another publisher has passed version %d", tables.ErrConflict, next)
		}
		file, err := versionFile(e)
		if err != nil {
			return p, err
		}
		if len(file) == 0 {
			return p, fmt.Errorf("%w: a fresh log begins with version %d", tables.ErrConflict, next)
		}
		if err := t.put(ctx, to, delta.VersionFile(next), file); err != nil {
			if p.foreign = errors.Is(err, ErrForeign); p.foreign {
				err = errors.Join(err, t.save(ctx, &p))
			}
			return p, err
		}
		p.since += int64(len(file))
		next++
	}
	put, err := head(ctx) // the time after the last file was put, however long that took
	if err != nil {
		return p, err
	}
	if p.note(next-1, put.now); p.made == 0 {
		p.made = put.now // the first checkpoint comes a week later
	}
	return p, t.save(ctx, &p)
}

// put puts a file of the log, unless it is there already.
func (t *Table) put(ctx context.Context, to Objects, name string, file []byte) error {
	name = t.Folder() + name
	err := to.Put(ctx, name, file, "")
	if err == nil {
		return nil
	}
	found, etag, errRead := to.Get(ctx, name)
	switch {
	case errRead != nil:
		return errors.Join(err, errRead)
	case etag == "":
		return err
	case !bytes.Equal(found, file):
		return fmt.Errorf("%s: %w", name, ErrForeign)
	}
	return nil
}
