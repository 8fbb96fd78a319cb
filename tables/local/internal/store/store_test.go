package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var quiet = slog.New(slog.DiscardHandler)

func open(t *testing.T, fs vfs.FS, dir string) *Store {
	t.Helper()
	s, err := Open(fs, dir, 0, quiet)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOneProcessAtATimeHasADirectory(t *testing.T) {
	dir := t.TempDir()
	open(t, vfs.Default, dir)
	if _, err := Open(vfs.Default, dir, 0, quiet); !errors.Is(err, ErrInUse) {
		t.Errorf("a second Open returns %v, want ErrInUse", err)
	}
}

// TestOnlyALockedDirectoryIsInUse: another error is not taken for a lock, although the name of the directory, which it
// tells, has the word in it.
func TestOnlyALockedDirectoryIsInUse(t *testing.T) {
	disk := vfs.NewMem()
	f, err := disk.Create("clock", vfs.WriteCategoryUnspecified)
	must(t, err, f.Close())
	if _, err := Open(disk, "clock", 0, quiet); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("Open of a file returns %v", err)
	}
}

// GetAll finds what Get finds, for random keys in random order, some of them twice.
func TestGetAllAgreesWithGet(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := open(t, vfs.NewMem(), "db")
	key := func() []byte { return fmt.Appendf(nil, "k%0*d", 1+random.IntN(3), random.IntN(300)) }
	b := s.Batch()
	for range 150 {
		k := key()
		b.Set(k, append([]byte("value of "), k...))
	}
	must(t, s.Apply(b)())
	for range 200 {
		keys := make([][]byte, 1+random.IntN(100))
		for i := range keys {
			keys[i] = key()
		}
		values, err := s.GetAll(keys)
		must(t, err)
		for i, k := range keys {
			want, found, err := s.Get(k)
			if err != nil || !bytes.Equal(values[i], want) || found != (values[i] != nil) {
				t.Fatalf("GetAll gives %q for %s, Get %q, %v, %v", values[i], k, want, found, err)
			}
		}
	}
}

func TestTimesNeverRepeatNorGoBack(t *testing.T) {
	var c Clock
	now := time.Now()
	var running sync.WaitGroup
	seen := make([][]int64, 4)
	for w := range seen {
		running.Go(func() {
			for i := range 1000 {
				seen[w] = append(seen[w], c.Tick(now.Add(-time.Duration(i)*time.Second), 0))
			}
		})
	}
	running.Wait()
	all := map[int64]bool{}
	for _, times := range seen {
		for i, at := range times {
			if all[at] || i > 0 && at <= times[i-1] {
				t.Fatalf("time %d is returned twice, or after a later one", at)
			}
			all[at] = true
		}
	}
	later := c.Tick(now, ToTicks(now.AddDate(1, 0, 0)))
	if later != ToTicks(now.AddDate(1, 0, 0))+1 {
		t.Errorf("a tick after one in a year's time is %d", later)
	}
}

func TestTicksAreDotNets(t *testing.T) {
	for text, want := range map[string]int64{
		"0001-01-01T00:00:00Z":         0,
		"1601-01-01T00:00:00Z":         504911232000000000,
		"1969-12-31T23:59:59.9999999Z": 621355967999999999,
		"1970-01-01T00:00:00Z":         621355968000000000,
		"9999-12-31T23:59:59.9999999Z": 3155378975999999999,
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		must(t, err)
		if got := ToTicks(at); got != want || !FromTicks(want).Equal(at) {
			t.Errorf("%s: %d ticks, and back %v; want %d", text, got, FromTicks(got), want)
		}
	}
}

func TestAfterIsBehindEverythingWithThePrefix(t *testing.T) {
	for _, prefix := range [][]byte{{1}, {1, 255}, {'e', 0, 255, 255}} {
		end := After(prefix)
		if last := append(bytes.Clone(prefix), 255, 255, 255); bytes.Compare(end, last) <= 0 {
			t.Errorf("%v is not behind %v", end, last)
		}
		if bytes.HasPrefix(end, prefix) {
			t.Errorf("%v has the prefix %v", end, prefix)
		}
	}
	if After([]byte{255}) != nil {
		t.Error("something is behind the last prefix")
	}
}

func TestFailedBatchIsReported(t *testing.T) {
	s := open(t, vfs.NewMem(), "db")
	b := s.Batch()
	b.keep(errors.New("the first"))
	b.keep(errors.New("the second"))
	err := s.Apply(b)()
	if err == nil || !strings.Contains(err.Error(), "the first") || strings.Contains(err.Error(), "the second") {
		t.Errorf("Apply returns %v, want the first error", err)
	}
}
