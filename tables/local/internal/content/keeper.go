package content

import (
	"fmt"
	"io"
	"sync"

	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// bufferSize is how many bytes of a content are in memory while it is copied.
const bufferSize = 2 * piece

// category labels the files in Pebble's statistics of disk writes.
const category vfs.DiskWriteCategory = "blob-content"

// A Keeper stores contents in a store and a directory. The owner of a content is the
// container of its blob.
type Keeper struct {
	store   *store.Store
	fs      vfs.FS
	dir     *directory
	buffers sync.Pool

	mu    sync.Mutex
	pins  map[ID]*pin
	holds int  // while there are any, no file is removed
	held  []ID // to be removed after the last hold
}

// Open opens the contents in dir, creates it if necessary, and removes files that a
// crash left over. It returns a *Missing if a file is missing.
func Open(s *store.Store, fs vfs.FS, dir string) (*Keeper, error) {
	k := &Keeper{store: s, fs: fs, dir: &directory{fs: fs, name: dir}, pins: map[ID]*pin{}}
	k.buffers.New = func() any { return new([bufferSize]byte) }
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	parent := &directory{fs: fs, name: fs.PathDir(dir)}
	if err := parent.sync(); err != nil {
		return nil, err
	}
	return k, k.recover()
}

func (k *Keeper) path(id ID) string { return k.fs.PathJoin(k.dir.name, id.String()) }

// Copy writes n bytes of a content, starting at off. A content in the store is read from the snapshot; one in a file
// must be pinned, and is compared with the checksums in the snapshot.
func (k *Keeper) Copy(w io.Writer, at *store.Snapshot, owner store.ID, r Ref, off, n int64) error {
	if r.File {
		sums, err := r.sums(at, owner)
		if err != nil {
			return err
		}
		return k.copyFile(w, r, sums, off, n)
	}
	value, err := inline(at, owner, r)
	if err != nil {
		return err
	}
	_, err = w.Write(value[off : off+n])
	return err
}

// inline returns a content in the store.
func inline(at *store.Snapshot, owner store.ID, r Ref) ([]byte, error) {
	value, found, err := at.Get(r.key(owner))
	if err == nil && (!found || int64(len(value)) != r.Size) {
		err = fmt.Errorf("content %s is missing in the store, or has another size", r.ID)
	}
	return value, err
}

// Check returns an error if a content is not stored in full.
func (k *Keeper) Check(at *store.Snapshot, owner store.ID, r Ref) error {
	if r.Size == 0 {
		return nil
	}
	if !r.File {
		_, err := inline(at, owner, r)
		return err
	}
	info, err := k.fs.Stat(k.path(r.ID))
	if err != nil {
		return err
	}
	if info.Size() != r.Size {
		return fmt.Errorf("the file %s has %d bytes instead of %d", k.path(r.ID), info.Size(), r.Size)
	}
	return k.Copy(io.Discard, at, owner, r, 0, r.Size)
}

// copyFile reads whole pieces, and writes what is asked for of each once it is known to be right.
func (k *Keeper) copyFile(w io.Writer, r Ref, sums []byte, off, n int64) error {
	f, err := k.fs.Open(k.path(r.ID))
	if err != nil {
		return err
	}
	defer f.Close() // only read
	buf := k.buffers.Get().(*[bufferSize]byte)
	defer k.buffers.Put(buf)
	for end := off + n; off < end; {
		first := off / piece * piece
		part := buf[:min((end+piece-1)/piece*piece, r.Size, first+bufferSize)-first]
		if got, err := f.ReadAt(part, first); got < len(part) {
			return fmt.Errorf("content file %s at byte %d: %w", k.path(r.ID), first+int64(got), err)
		}
		if err := checkPieces(sums, part, first); err != nil {
			return fmt.Errorf("content file %s: %w", k.path(r.ID), err)
		}
		part = part[off-first : min(end-first, int64(len(part)))]
		if _, err := w.Write(part); err != nil {
			return err
		}
		off += int64(len(part))
	}
	return nil
}
