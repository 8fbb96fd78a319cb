package content

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const long = Inline + 1

// A disk is a file system whose operations can be made to fail.
type disk struct {
	vfs.FS
	mu    sync.Mutex
	fail  func(errorfs.Op) error
	syncs int // of directories
}

func newDisk() *disk {
	d := &disk{fail: func(errorfs.Op) error { return nil }}
	d.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if op.Kind == errorfs.OpFileSync && strings.HasSuffix(op.Path, "blobs") {
			d.syncs++
		}
		return d.fail(op)
	}))
	return d
}

func (d *disk) failing(kind errorfs.OpKind, suffix string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = func(op errorfs.Op) error {
		if op.Kind == kind && strings.Contains(op.Path, "blobs") && strings.HasSuffix(op.Path, suffix) {
			return errors.New("the disk says no")
		}
		return nil
	}
}

func open(t *testing.T, fs vfs.FS) (*Keeper, *store.Store) {
	t.Helper()
	must.Succeed(t, fs.MkdirAll("/data", 0o700))
	s := must.Have(store.Open(fs, "/data/db", 0, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	k := must.Have(Open(s, fs, "/data/blobs"))(t)
	return k, s
}

// keep writes a content and stores its record.
func keep(t *testing.T, k *Keeper, owner store.ID, b []byte) Ref {
	t.Helper()
	d := must.Have(k.Write(bytes.NewReader(b), int64(len(b))))(t)
	defer d.Discard()
	batch := k.store.Batch()
	d.Keep(batch, owner)
	must.Succeed(t, k.store.Apply(batch)())
	return d.Ref
}

func files(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names := must.Have(fs.List("/data/blobs"))(t)
	return names
}

func TestContentsComeBack(t *testing.T) {
	k, s := open(t, vfs.NewMem())
	for _, size := range []int{1, Inline, long, 3*bufferSize + 5} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		r := keep(t, k, 1, want)
		if r.File != (size > Inline) {
			t.Errorf("%d bytes: %+v", size, r)
		}
		at := s.Snapshot()
		for _, off := range []int{0, size / 3, size - 1} {
			var got bytes.Buffer
			err := k.Copy(&got, at, 1, r, int64(off), int64(size-off))
			if err != nil || !bytes.Equal(got.Bytes(), want[off:]) {
				t.Errorf("%d bytes from %d: %d came back, %v", size, off, got.Len(), err)
			}
		}
		must.Succeed(t, at.Close())
	}
}

// A dropped file stays until its last reader ends. A short content stays until the last
// snapshot is closed.
func TestDroppedContentsStayForTheirReaders(t *testing.T) {
	fs := vfs.NewMem()
	k, s := open(t, fs)
	refs := []Ref{keep(t, k, 1, make([]byte, long)), keep(t, k, 1, make([]byte, 5))}
	first, second, at := k.Pin(refs), k.Pin(refs), s.Snapshot()
	b := s.Batch()
	dropped := k.Drop(b, 1, refs)
	must.Succeed(t, s.Apply(b)())
	k.Remove(dropped)
	first()
	for _, r := range refs {
		if err := k.Copy(io.Discard, at, 1, r, 0, r.Size); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	second()
	must.Succeed(t, at.Close())
	if got := files(t, fs); len(got) != 0 || len(k.pins) != 0 {
		t.Errorf("left: %v, %d pins", got, len(k.pins))
	}
}

// An upload that fails at any step leaves no file.
func TestFailedWriteLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		kind errorfs.OpKind
		on   string
	}{{errorfs.OpCreate, ""}, {errorfs.OpFileWrite, ""}, {errorfs.OpFileSync, ""}, {errorfs.OpOpenDir, "blobs"}} {
		d := newDisk()
		k, _ := open(t, d)
		d.failing(c.kind, c.on)
		if _, err := k.Write(bytes.NewReader(make([]byte, long)), long); err == nil {
			t.Errorf("no error after a failed %v", c.kind)
		}
		if got := files(t, d); len(got) != 0 {
			t.Errorf("a failed %v left %v", c.kind, got)
		}
	}
	k, _ := open(t, vfs.NewMem())
	for _, size := range []int64{10, long, 2 * bufferSize} {
		cut := errors.New("cut")
		body := io.MultiReader(bytes.NewReader(make([]byte, size/2)), iotest.ErrReader(cut))
		if _, err := k.Write(body, size); !errors.Is(err, cut) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, err := k.Write(bytes.NewReader(make([]byte, size/2)), size); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if got := files(t, k.fs); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// After a failed flush of the directory all flushes fail: a later one may succeed although
// the names of the failed one are lost.
func TestFailedDirectoryFlushIsForGood(t *testing.T) {
	d := newDisk()
	k, _ := open(t, d)
	d.failing(errorfs.OpFileSync, "blobs")
	if _, err := k.Write(bytes.NewReader(make([]byte, long)), long); err == nil {
		t.Fatal("no error after a failed flush")
	}
	d.failing(errorfs.OpFileSync, "nothing")
	if _, err := k.Write(bytes.NewReader(make([]byte, long)), long); err == nil {
		t.Error("no error after a later flush")
	}
}

// Callers that wait while a flush of the directory runs share the next flush.
func TestDirectoryFlushIsShared(t *testing.T) {
	d := newDisk()
	k, _ := open(t, d)
	k.dir.mu.Lock() // as if one were under way
	before, asked := d.syncs, k.dir.asked.Load()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := k.dir.sync(); err != nil {
				t.Error(err)
			}
		})
	}
	for k.dir.asked.Load() < asked+20 {
		runtime.Gosched()
	}
	k.dir.mu.Unlock()
	all.Wait()
	if d.syncs != before+1 {
		t.Errorf("%d flushes for 20 callers", d.syncs-before)
	}
}

func FuzzRef(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), int64(5), true, []byte("rest"))
	f.Fuzz(func(t *testing.T, id []byte, size int64, file bool, rest []byte) {
		if len(id) != len(ID{}) || size < 0 {
			if _, _, err := CutRef(id); err == nil && len(id) <= len(ID{}) {
				t.Fatalf("%x was read", id)
			}
			return
		}
		want := Ref{ID(id), size, file}
		got, left, err := CutRef(append(want.Append(nil), rest...))
		if err != nil || got != want || !bytes.Equal(left, rest) {
			t.Fatalf("%+v came back as %+v and %x, %v", want, got, left, err)
		}
	})
}

// TestFlippedByteIsNotServed: of every range of a file that has one, those that need it fail before it, and all others
// come back. A file of before there were checksums, whose marker is empty, comes back as it is.
func TestFlippedByteIsNotServed(t *testing.T) {
	fs := vfs.NewMem()
	k, s := open(t, fs)
	const size = 3*bufferSize + 5
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i % 251)
	}
	edges := []int{0, 1, piece - 1, piece, piece + 1, bufferSize, 2*piece + 7, 5 * piece, 6 * piece, 6*piece + 1, size}
	for _, flipped := range []int{0, piece - 1, piece, 3*piece + 100, size - 1} {
		r := keep(t, k, 1, want)
		damaged := bytes.Clone(want)
		damaged[flipped] ^= 0x10
		file := must.Have(fs.Create(k.path(r.ID), category))(t)
		must.Have(file.Write(damaged))(t)
		must.Succeed(t, file.Close())
		at := s.Snapshot()
		if err := k.Check(at, 1, r); err == nil {
			t.Errorf("the check does not find the flipped byte %d", flipped)
		}
		for i, from := range edges {
			for _, to := range edges[i+1:] {
				var got bytes.Buffer
				err := k.Copy(&got, at, 1, r, int64(from), int64(to-from))
				fails := from/piece <= flipped/piece && flipped/piece <= (to-1)/piece
				cut := got.Len() != to-from
				if (err != nil) != fails || cut != fails || !bytes.HasPrefix(want[from:], got.Bytes()) {
					t.Errorf("byte %d flipped, from %d to %d: %d bytes, %v", flipped, from, to, got.Len(), err)
				}
			}
		}
		must.Succeed(t, at.Close())
		b := s.Batch()
		b.Set(r.key(1), nil)
		must.Succeed(t, s.Apply(b)())
		at = s.Snapshot()
		var got bytes.Buffer
		if err := errors.Join(k.Check(at, 1, r), k.Copy(&got, at, 1, r, 0, size)); err != nil || got.Len() != size {
			t.Errorf("without checksums: %d bytes, %v", got.Len(), err)
		}
		must.Succeed(t, at.Close())
	}
}
