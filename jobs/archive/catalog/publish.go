package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// A Container has the blobs of the archive.
type Container interface {
	// Put replaces a version of a blob, or makes one where the version is empty. tables.ErrExists and tables.ErrConflict
	// say that another version is there. After any other error the blob may have been put.
	Put(ctx context.Context, name string, content []byte, on tables.ETag) error
	// Get returns a blob and its version, which is empty if there is none.
	Get(ctx context.Context, name string) ([]byte, tables.ETag, error)
	// Delete deletes a blob, if there is one.
	Delete(ctx context.Context, name string) error
	// List yields the blobs in a folder.
	List(ctx context.Context, folder string) iter.Seq2[Listed, error]
}

// A Listed is one blob.
type Listed struct {
	Name    string
	Bytes   int64
	Written time.Time
}

// A Log is a table as a container has it: the log of a Delta table, which readers follow.
type Log struct {
	*partition
	objects Container
}

// Publish puts the versions that the log lacks into it, in order, each as it was committed. Any number of publishers
// may do that at the same time, and go on whenever they like. It returns the newest published version, and ErrForeign
// if the log has a version that is not from here: then nothing more is published.
func (l *Log) Publish(ctx context.Context) (int64, error) {
	return l.publishAs(ctx, l.head)
}

// publishRemoved publishes the versions of a table that was removed. A log that others write into is left as it is:
// it goes anyway.
func (l *Log) publishRemoved(ctx context.Context) error {
	_, err := l.publishAs(ctx, l.removedHead)
	if errors.Is(err, ErrForeign) {
		return nil
	}
	return err
}

func (l *Log) publishAs(ctx context.Context, head readHead) (n int64, err error) {
	again := func(err error) bool { // another publisher has come further
		return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists)
	}
	err = commit.RetryIf(ctx, commit.Tries, again, func() error {
		p, err := l.publish(ctx, head)
		n = p.version
		if err == nil && p.ended > max(0, p.checkpoint) && p.version >= p.ended { // readers can only begin at a checkpoint
			err = l.Checkpoint(ctx, true)
		}
		return err
	})
	return n, l.wrap("its log", err)
}

// A readHead reads the head of a table in a state in which it can be published.
type readHead func(context.Context) (head, error)

func (l *Log) publish(ctx context.Context, head readHead) (p published, err error) {
	if p, err = l.published(ctx); err != nil {
		return p, err
	}
	if p.foreign {
		return p, ErrForeign
	}
	h, err := head(ctx)
	if err != nil || p.version >= h.version {
		return p, err
	}
	q := tables.Query{Range: tables.RowsBetween(l.key, versionRow(p.version+1), versionRow(h.version))}
	next := p.version + 1
	for e, err := range l.rows.Entities(ctx, q) {
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
		if err := l.put(ctx, delta.VersionFile(next), file); err != nil {
			if p.foreign = errors.Is(err, ErrForeign); p.foreign {
				err = errors.Join(err, l.save(ctx, &p))
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
	return p, l.save(ctx, &p)
}

// put puts a file of the log, unless it is there already.
func (l *Log) put(ctx context.Context, name string, file []byte) error {
	name = l.Folder() + name
	err := l.objects.Put(ctx, name, file, "")
	if err == nil {
		return nil
	}
	found, etag, errRead := l.objects.Get(ctx, name)
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
