package catalog

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// versionsUnknown is how many versions a fresh log leaves out, unless somebody else has written into the log: then the
// catalog may have been restored, and does not know the versions since its backup. Readers may be at one of them, and a
// machine that stood still may put one, or a checkpoint.
const versionsUnknown = 10_000

// FreshLog publishes a log that begins again with what the catalog knows: where somebody else has written into the
// log, it was deleted, or it and the catalog are of different times, as after a restore. The first version is above
// every number that the folder or the catalog has. It removes what readers find in the old log, and adds all live
// files; then there is a checkpoint of it. The table has another id, as readers keep what they know by that.
//
// What is committed meanwhile is published by Publish, as ever. Repeated, FreshLog begins with another number.
func (l *Log) FreshLog(ctx context.Context) error {
	again := func(err error) bool { // somebody else took the number
		return commit.IsChanged(err) || errors.Is(err, ErrForeign)
	}
	err := commit.RetryIf(ctx, commit.Tries, again, func() error { return l.freshLog(ctx) })
	return l.wrap("a fresh log", err)
}

func (l *Log) freshLog(ctx context.Context) error {
	old, err := l.readLog(ctx)
	if err != nil {
		return err
	}
	b, err := l.beginLog(ctx, old.newest)
	if err != nil {
		return err
	}
	if err := l.describe(ctx, b, old.live); err != nil {
		return err
	}
	if err := l.put(ctx, delta.VersionFile(b.head.version), b.version); err != nil {
		return err
	}
	if err := l.put(ctx, delta.CheckpointFile(b.head.version), b.checkpoint); err != nil {
		return err
	}
	if err := l.point(ctx, b.last); err != nil {
		return err
	}
	return l.endFresh(ctx, b)
}

// A beginning is what a log begins with.
type beginning struct {
	head      head // with its number and id
	first     version
	published published

	version, checkpoint []byte // files
	last                delta.Last
}

// beginLog takes the number of a log's first version. Nobody publishes until that is there.
func (l *Log) beginLog(ctx context.Context, newest int64) (*beginning, error) {
	p, err := l.published(ctx)
	if err != nil {
		return nil, err
	}
	h, err := l.head(ctx)
	if err != nil {
		return nil, err
	}
	h.version, h.id = max(h.version, newest)+1, uuid()
	if !p.foreign {
		h.version += versionsUnknown
	}
	b := &beginning{head: h, published: p, first: version{txn: rand.Text(), why: "a fresh log"}}
	b.first.Info.Operation, b.first.Info.Timestamp, b.published.foreign = "REPLACE TABLE", millis(h.now), true
	b.first.Begins = true
	row := b.first.describe(l.partition, h.version)
	log, err := b.published.write(l.partition)
	if err != nil {
		return nil, err
	}
	written, err := l.rows.Submit(ctx, []tables.Op{h.move(l.partition), tables.Insert(row), log})
	if err == nil {
		b.published.etag = written.ETags[2]
	}
	return b, err
}

// describe makes the files of the first version and of its checkpoint. Rows change meanwhile, as with any checkpoint.
func (l *Log) describe(ctx context.Context, b *beginning, old delta.Live) error {
	metadata, err := l.metadata(ctx, &b.head)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	c, err := delta.NewCheckpoint(&file, metadata)
	if err != nil {
		return err
	}
	v := &b.first
	v.Metadata = metadata
	err = l.rowsAt(ctx, b.head.version, func(a delta.Add) error {
		v.Added = append(v.Added, a)
		old.Remove(a.Path)
		return c.Add(a)
	}, c.Remove)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		v.Removed = append(v.Removed, delta.Remove{Path: old[name], Deleted: v.Info.Timestamp, DataChange: true})
	}
	if err := c.Close(); err != nil {
		return err
	}
	if b.version, err = v.Bytes(b.head.version); err != nil {
		return err
	}
	b.checkpoint, b.last = file.Bytes(), c.Last(b.head.version, int64(file.Len()))
	now, err := l.head(ctx)
	if err == nil && (now.epoch != b.head.epoch || now.now > b.head.now+checkpointTakes) {
		err = tables.ErrConflict // an erasure has begun, or rows may have gone that it needs
	}
	return err
}

// endFresh has publishers go on behind the first version.
func (l *Log) endFresh(ctx context.Context, b *beginning) error {
	now, err := l.head(ctx)
	if err != nil {
		return err
	}
	p, n := &b.published, b.head.version
	p.foreign, p.marks = false, nil
	p.checkpoint, p.made, p.bytes, p.since = n, now.now, b.last.Bytes, 0
	p.note(n, now.now)
	if err = l.save(ctx, p); errors.Is(err, tables.ErrConflict) {
		if other, errRead := l.published(ctx); errRead == nil && !other.foreign && other.version >= n {
			return nil // another fresh log, or our own row, whose answer was lost
		}
	}
	return err
}
