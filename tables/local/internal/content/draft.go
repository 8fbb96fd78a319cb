package content

import (
	"errors"
	"io"

	"furrow/tables/local/internal/store"
)

// A Draft is a content on disk or in memory that nothing refers to yet.
type Draft struct {
	Ref
	keeper *Keeper
	value  []byte // the content, or the checksums of its file
	kept   bool
}

// Write reads size bytes from body, with bounded memory for long contents. It
// returns io.ErrUnexpectedEOF if the body is shorter. A failed Write leaves no file.
func (k *Keeper) Write(body io.Reader, size int64) (*Draft, error) {
	d := &Draft{keeper: k}
	if size == 0 {
		return d, nil
	}
	d.Ref = Ref{ID: newID(), Size: size, File: size > Inline}
	if d.File {
		sums, err := k.writeFile(d.Ref, body)
		d.value = sums
		return d, err
	}
	d.value = make([]byte, size)
	_, err := io.ReadFull(body, d.value)
	return d, short(err)
}

// short turns io.EOF into io.ErrUnexpectedEOF.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFile writes the file durably, or leaves none. It returns the checksums.
func (k *Keeper) writeFile(r Ref, body io.Reader) ([]byte, error) {
	f, err := k.fs.Create(k.path(r.ID), category)
	if err != nil {
		return nil, err
	}
	sums, err := k.fill(f, body, r.Size)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = k.dir.sync()
	}
	if err != nil {
		return nil, errors.Join(err, k.fs.Remove(k.path(r.ID)))
	}
	return sums, nil
}

func (k *Keeper) fill(w io.Writer, body io.Reader, size int64) (sums []byte, err error) {
	buf := k.buffers.Get().(*[bufferSize]byte)
	defer k.buffers.Put(buf)
	for size > 0 {
		n, err := io.ReadFull(body, buf[:min(size, bufferSize)])
		if err != nil {
			return nil, short(err)
		}
		sums = appendSums(sums, buf[:n]) // before Write, which may change them
		if _, err := w.Write(buf[:n]); err != nil {
			return nil, err
		}
		size -= int64(n)
	}
	return sums, nil
}

// Keep adds the content or its marker to b, for its owner.
func (d *Draft) Keep(b *store.Batch, owner store.ID) {
	d.kept = true
	if d.Size > 0 {
		b.Set(d.key(owner), d.value)
	}
}

// Discard removes the file of a draft that was not kept. If a batch that keeps it
// failed, the file stays until the next Open, because the batch may be on disk.
func (d *Draft) Discard() {
	if d.File && !d.kept {
		d.keeper.remove(d.ID)
	}
}
