package catalog

import (
	"context"
	"slices"

	"furrow/jobs/archive/delta"
)

// A foundLog is what the folder has of a log, whoever has written it.
type foundLog struct {
	newest int64      // greatest number that a file has; -1: none
	live   delta.Live // files that readers find
}

// readLog reads a log as a reader does: from its newest checkpoint on. What cannot be read is passed over, as no reader
// has read that either.
func (l *Log) readLog(ctx context.Context) (found foundLog, err error) {
	found = foundLog{newest: -1, live: delta.Live{}}
	var checkpoints []int64
	for one, err := range l.objects.List(ctx, l.Folder()+delta.LogFolder) {
		if err != nil {
			return found, err
		}
		name := one.Name[len(l.Folder()):]
		n, is := delta.VersionOf(name)
		if !is {
			continue
		}
		if found.newest = max(found.newest, n); name == delta.CheckpointFile(n) {
			checkpoints = append(checkpoints, n)
		}
	}
	pointer, _, err := l.objects.Get(ctx, l.Folder()+delta.LastCheckpoint)
	if err != nil {
		return found, err
	}
	if last, err := delta.ParseLast(pointer); err == nil {
		found.newest = max(found.newest, last.Version)
	}
	slices.Sort(checkpoints)
	return found, l.follow(ctx, &found, checkpoints)
}

// follow finds which files are live.
func (l *Log) follow(ctx context.Context, found *foundLog, checkpoints []int64) error {
	next := int64(0)
	for _, n := range slices.Backward(checkpoints) {
		file, _, err := l.objects.Get(ctx, l.Folder()+delta.CheckpointFile(n))
		if err != nil {
			return err
		}
		if live, err := delta.ReadCheckpoint(file); err == nil {
			found.live, next = live, n+1
			break
		}
	}
	for ; ; next++ {
		file, etag, err := l.objects.Get(ctx, l.Folder()+delta.VersionFile(next))
		if err != nil || etag == "" || found.live.Follow(file) != nil {
			return err
		}
	}
}
