package store

import (
	"bytes"
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Reclaiming rewrites up to five bytes for each one that it gives back. A piece is what is rewritten at a time: the
// disk needs room for it, and Pebble's other compactions wait for it.
const (
	flushDeletions = 10_000
	leastGarbage   = 16 << 20 // bytes
	garbageShare   = 5        // of the tables' bytes: one of so many
	pieceSize      = 64 << 20 // bytes
)

// Reclaim gives the space of deleted rows back to the disk when they take a fifth of the database, until ctx ends. It
// looks at each tick. Pebble alone drops deleted rows when it compacts their files, which it has little reason to do
// while little is written.
func (s *Store) Reclaim(ctx context.Context, every time.Duration) {
	Regularly(ctx, every, func() {
		if err := s.reclaim(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("space of deleted rows not given back", "err", err)
		}
	})
}

// Regularly calls do each time that so much time has passed, until ctx ends.
func Regularly(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// reclaim writes deletions to a table if they are many: Pebble then estimates what they delete. If that is much, it
// compacts everything. What a snapshot needs stays, and is no longer estimated.
func (s *Store) reclaim(ctx context.Context) error {
	if s.deletions.Load() >= flushDeletions {
		if err := s.db.Flush(); err != nil {
			return err
		}
	}
	m := s.db.Metrics()
	garbage := m.Table.Garbage.PointDeletionsBytesEstimate + m.Table.Garbage.RangeDeletionsBytesEstimate
	if garbage < max(leastGarbage, m.Table.Local.LiveSize/garbageShare) {
		return nil
	}
	pieces, err := s.pieces()
	for _, p := range pieces {
		if err == nil {
			err = s.db.Compact(ctx, p.Start, p.End, false)
		}
	}
	return err
}

// pieces cuts the keys into ranges with about as many bytes of tables each.
func (s *Store) pieces() (all []pebble.KeyRange, err error) {
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, err
	}
	var largest []pebble.SSTableInfo
	var most uint64
	for _, tables := range levels[1:] { // those of the first level overlap
		var size uint64
		for _, t := range tables {
			size += t.Size
		}
		if size > most {
			largest, most = tables, size
		}
	}
	piece, size := pebble.KeyRange{Start: []byte{0}}, uint64(0)
	for _, t := range largest {
		if size += t.Size; size >= pieceSize {
			piece.End = append(bytes.Clone(t.Largest.UserKey), 0)
			all, piece, size = append(all, piece), pebble.KeyRange{Start: piece.End}, 0
		}
	}
	piece.End = []byte{0xff}
	return append(all, piece), nil
}
