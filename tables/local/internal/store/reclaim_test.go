package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crowded returns a store with so many rows of 2 kB, a hundred to a batch.
func crowded(t *testing.T, rows int) *store.Store {
	t.Helper()
	s := must.Have(store.Open(vfs.NewMem(), "/data", 0, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 2000)
	write(t, s, 0, rows, func(b *store.Batch, key []byte) {
		_, _ = random.Read(value) // never fails
		b.Set(key, value)
	})
	return s
}

// write applies a change to each row from one to another.
func write(t *testing.T, s *store.Store, from, to int, change func(*store.Batch, []byte)) {
	t.Helper()
	for ; from < to; from += 100 {
		b := s.Batch()
		for n := from; n < min(from+100, to); n++ {
			change(b, row(n))
		}
		must.Succeed(t, s.Apply(b)())
	}
}

// row spreads rows as devices are spread over a table: neighbors in time are far apart.
func row(n int) []byte {
	return fmt.Appendf(store.ID(1).Key(store.PrefixEntity), "device-%02d\x00%019d", n%97, n)
}

// reclaim runs Reclaim until the end of a test, and looks every ten milliseconds.
func reclaim(t *testing.T, s *store.Store) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { s.Reclaim(ctx, 10*time.Millisecond) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// TestDeletedRowsGiveTheirSpaceBack: nothing else is written afterwards that would have Pebble compact its files.
func TestDeletedRowsGiveTheirSpaceBack(t *testing.T) {
	if testing.Short() {
		t.Skip("Pebble compacts files for a minute with the race detector")
	}
	t.Parallel()
	const rows, kept = 30_000, 1_500
	s := crowded(t, rows)
	must.Succeed(t, s.Compact(t.Context())) // what is in memory is not counted
	before := s.Live()
	write(t, s, 0, rows-kept, (*store.Batch).Delete)
	reclaim(t, s) // not earlier: what a look halfway leaves may be too little for another
	for end := time.Now().Add(time.Minute); s.Live() > before/2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d MB before, and %d MB after %d of %d rows were deleted", before>>20, s.Live()>>20, rows-kept, rows)
		}
	}
	for n := range rows {
		if _, found, err := s.Get(row(n)); err != nil || found != (n >= rows-kept) {
			t.Fatalf("row %d: %v, %v", n, found, err)
		}
	}
}

// TestGarbageOfASnapshotIsNotCompactedOverAndOver, because that would write all files again at each look.
func TestGarbageOfASnapshotIsNotCompactedOverAndOver(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	s := crowded(t, rows)
	snapshot := s.Snapshot()
	write(t, s, 0, rows, (*store.Batch).Delete)
	before := s.Compactions()
	reclaim(t, s)
	for end := time.Now().Add(time.Minute); s.Compactions() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was compacted")
		}
	}
	var after, last int64 = s.Compactions(), -1
	for last != after { // until they end
		time.Sleep(300 * time.Millisecond)
		last, after = after, s.Compactions()
	}
	if after-before > 20 {
		t.Errorf("%d compactions", after-before)
	}
	if _, found, err := snapshot.Get(row(7)); !found || err != nil {
		t.Error(found, err)
	}
	must.Succeed(t, snapshot.Close())
}
