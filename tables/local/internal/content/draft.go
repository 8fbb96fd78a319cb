package content

import (
	"errors"
	"io"

	"furrow/tables/local/internal/store"
)

// A Draft is a content that is on disk or in memory, and that nothing refers to yet.
type Draft struct {
	Ref
	keeper *Keeper
	bytes  []byte
	kept   bool
}

// Write takes size bytes in from body, a bounded part at a time. A body that ends
// before gives io.ErrUnexpectedEOF. When Write fails nothing is left of the content.
func (k *Keeper) Write(body io.Reader, size int64) (*Draft, error) {
	d := &Draft{keeper: k}
	if size == 0 {
		return d, nil
	}
	d.Ref = Ref{ID: newID(), Size: size, File: size > Inline}
	if d.File {
		return d, k.writeFile(d.Ref, body)
	}
	d.bytes = make([]byte, size)
	_, err := io.ReadFull(body, d.bytes)
	return d, short(err)
}

// short gives io.EOF, which promised bytes must not end with, another name.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFile makes the file and its name durable, or leaves nothing.
func (k *Keeper) writeFile(r Ref, body io.Reader) error {
	f, err := k.fs.Create(k.path(r.ID), category)
	if err != nil {
		return err
	}
	err = k.fill(f, body, r.Size)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = k.dir.sync()
	}
	if err != nil {
		return errors.Join(err, k.fs.Remove(k.path(r.ID)))
	}
	return nil
}

func (k *Keeper) fill(w io.Writer, body io.Reader, size int64) error {
	buf := k.buffers.Get().(*[bufferSize]byte)
	defer k.buffers.Put(buf)
	for size > 0 {
		n, err := io.ReadFull(body, buf[:min(size, bufferSize)])
		if err != nil {
			return short(err)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

// Keep puts into b what makes the draft last. It is the owner's from then on.
func (d *Draft) Keep(b *store.Batch, owner store.ID) {
	d.kept = true
	if d.Size > 0 {
		b.Set(d.key(owner), d.bytes) // a marker has no value
	}
}

// Discard removes a draft that was not kept. One that was kept in a batch that
// came to nothing stays until the next Open, since the batch may have reached the disk.
func (d *Draft) Discard() {
	if d.File && !d.kept {
		d.keeper.remove(d.ID)
	}
}
