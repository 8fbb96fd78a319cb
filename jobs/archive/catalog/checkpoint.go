package catalog

import (
	"bytes"
	"context"
	"errors"

	"furrow/jobs/archive/delta"
	"furrow/tables"
)

// When a table gets another checkpoint: after so many versions whose files have a tenth of its bytes, or after a week
// with one. Readers read all versions since.
const (
	checkpointVersions = 100
	checkpointShare    = 10
	checkpointAfter    = 7 * tables.Day
	// One that took longer is thrown away: rows of files that have left go two days later.
	checkpointTakes = tables.Hour
)

// due reports whether a table needs a new checkpoint.
func (p *published) due(now tables.Ticks) bool {
	n := p.version - p.checkpoint
	return n >= checkpointVersions && p.since*checkpointShare > p.bytes || n > 0 && now > p.made+checkpointAfter
}

// Checkpoint makes a checkpoint of what is published, if one is due or it must. Readers begin there.
//
// It is made of rows that change meanwhile: all that were added by its version and not removed by it, live ones first
// and removed ones then. A file that is removed while it is made is among one of them, or both. What an erasure
// removed meanwhile must not come back: then the checkpoint is thrown away.
func (l *Log) Checkpoint(ctx context.Context, must bool) error {
	h, err := l.anyHead(ctx)
	if err != nil || h.removed {
		return l.wrap("a checkpoint", err)
	}
	p, err := l.published(ctx)
	if err != nil || p.version < 0 || p.version < p.ended || p.foreign {
		return l.wrap("a checkpoint", err)
	}
	if p.version == p.checkpoint || !must && !p.due(h.now) {
		return nil
	}
	return l.wrap("a checkpoint", l.checkpoint(ctx, p, h))
}

func (l *Log) checkpoint(ctx context.Context, p published, h head) error {
	var file bytes.Buffer
	metadata, err := l.metadata(ctx, &h) // perhaps columns that come with a later version: no file of this one has any
	if err != nil {
		return err
	}
	c, err := delta.NewCheckpoint(&file, metadata)
	if err != nil {
		return err
	}
	if err := l.rowsAt(ctx, p.version, c.Add, c.Remove); err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	now, err := l.head(ctx)
	if err != nil || now.epoch != h.epoch || now.now > h.now+checkpointTakes {
		return err
	}
	name, last := l.Folder()+delta.CheckpointFile(p.version), c.Last(p.version, int64(file.Len()))
	err = l.objects.Put(ctx, name, file.Bytes(), "")
	if errors.Is(err, tables.ErrExists) { // of somebody who died before readers began there: it is as good
		var found []byte
		if found, _, err = l.objects.Get(ctx, name); err == nil {
			last, err = delta.LastOf(p.version, found)
		}
	}
	if err != nil {
		return err
	}
	if err := l.point(ctx, last); err != nil {
		return err
	}
	p.checkpoint, p.made, p.bytes, p.since = p.version, h.now, last.Bytes, 0
	if err := l.save(ctx, &p); !errors.Is(err, tables.ErrConflict) {
		return err
	}
	return nil // a publisher has come further: its versions count twice
}

// A shortName is the beginning of a file's random name: 80 bits of it, which no two files of a table share. Whole names
// of all files would keep their rows in memory.
type shortName [16]byte

func shortNameOf(name string) (short shortName) {
	copy(short[:], name)
	return short
}

// rowsAt passes on the files that a version has, and those that had left by then.
func (l *Log) rowsAt(ctx context.Context, version int64, add func(delta.Add) error,
	remove func(delta.Remove) error) error {
	seen := map[shortName]bool{}
	for f, err := range read(ctx, l.partition, l.query(fileRows), fileOf) {
		if err != nil {
			return err
		}
		if seen[shortNameOf(f.Name)] = true; f.Added <= version {
			if err := add(f.add()); err != nil {
				return err
			}
		}
	}
	for r, err := range read(ctx, l.partition, l.query(removedRows), removedOf) {
		switch {
		case err != nil:
			return err
		case r.version == 0 || r.Added > version || seen[shortNameOf(r.Name)]:
		case r.version <= version:
			err = remove(r.remove())
		default: // removed since: it was there
			err = add(r.add())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// point makes readers begin at a checkpoint, unless they begin at a later one. A damaged pointer is replaced.
func (l *Log) point(ctx context.Context, last delta.Last) error {
	name := l.Folder() + delta.LastCheckpoint
	content, err := last.Marshal()
	if err != nil {
		return err
	}
	for {
		found, etag, err := l.objects.Get(ctx, name)
		if err != nil {
			return err
		}
		if etag != "" {
			if is, err := delta.ParseLast(found); err == nil && is.Version >= last.Version {
				return nil
			}
		}
		err = l.objects.Put(ctx, name, content, etag)
		if !errors.Is(err, tables.ErrConflict) && !errors.Is(err, tables.ErrExists) {
			return err
		}
	}
}
