package blob

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"net/http"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A view is one version of a blob, until it is closed.
type view struct {
	service  *Service
	owner    store.ID
	rec      *record
	span     span
	parts    []part // the contents of the span
	snapshot *store.Snapshot
	unpin    func()
}

// A part is a piece of a content.
type part struct {
	content.Ref
	off, n int64
}

// open opens the current version of a blob. choose selects the bytes to read, or
// returns an error; if it selects none, open does not look up their contents.
func (s *Service) open(at target, choose func(*record) (span, error)) (v *view, err error) {
	s.containers.RLock()
	defer s.containers.RUnlock()
	in, err := s.containers.find(at.container)
	if err != nil {
		return nil, err
	}
	key := blobKey(in.ID, at.blob)
	defer s.locks.Lock(key)()
	v = &view{service: s, owner: in.ID, snapshot: s.store.Snapshot(), unpin: func() {}}
	if err := v.readVersion(at.blob, choose); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *view) readVersion(name string, choose func(*record) (span, error)) error {
	value, found, err := v.snapshot.Get(blobKey(v.owner, name))
	if err != nil {
		return err
	}
	if !found {
		return errBlobNotFound
	}
	if v.rec, err = parseRecord(value); err != nil {
		return err
	}
	if v.span, err = choose(v.rec); err != nil || v.span.n == 0 {
		return err
	}
	var at int64
	if v.rec.Append {
		value, at, err = v.service.appended(v.owner, name, v.span)
	} else {
		value, _, err = v.snapshot.Get(blocksKey(v.owner, name))
	}
	if err != nil {
		return err
	}
	if v.parts, err = cut(value, at, v.span); err != nil {
		return err
	}
	refs := make([]content.Ref, len(v.parts))
	for i, p := range v.parts {
		refs[i] = p.Ref
	}
	v.unpin = v.service.content.Pin(refs)
	return nil
}

// cut returns the parts that a span consists of. The record is that of the blocks, and the first begins at an
// offset in the blob.
func cut(record []byte, at int64, of span) (parts []part, err error) {
	end := of.off + of.n
	for b, err := range readBlocks(record) {
		if err != nil {
			return nil, err
		}
		from, to := max(at, of.off), min(at+b.Size, end)
		if from < to {
			parts = append(parts, part{b.Ref, from - at, to - from})
		}
		if at += b.Size; at >= end {
			return parts, nil
		}
	}
	return nil, errors.Join(errBlocks, fmt.Errorf("it has %d bytes, and %d are needed", at, end))
}

func (v *view) close() error {
	v.unpin()
	return v.snapshot.Close()
}

// WriteTo writes the span.
func (v *view) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range v.parts {
		if err := v.service.content.Copy(w, v.snapshot, v.owner, p.Ref, p.off, p.n); err != nil {
			return n, err
		}
		n += p.n
	}
	return n, nil
}

// A cutError is the reason why an answer ends before its length.
type cutError struct{ err error }

func (e *cutError) Error() string { return e.err.Error() }

// A client is a writer that remembers whether the client has gone.
type client struct {
	io.Writer
	gone bool
}

func (c *client) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.gone = c.gone || err != nil
	return n, err
}

// getBlob answers Get Blob and Get Blob Properties.
func (s *Service) getBlob(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) (err error) {
	cond, err := parseConditions(r.Header)
	if err != nil {
		return err
	}
	ask, err := parseRange(r.Header)
	if err != nil {
		return err
	}
	head := r.Method == http.MethodHead
	v, err := s.open(at, func(rec *record) (span, error) {
		if err := cond.forRead(rec.Changed); err != nil || head {
			return span{}, err
		}
		part, err := ask.spanIn(rec.Size)
		if errors.Is(err, errRange) {
			wire.Set(w.Header(), "Content-Range", fmt.Sprintf("bytes */%d", rec.Size)) // SDKs take the size from it
		}
		return part, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	h := w.Header()
	v.rec.setAll(h)
	for name, values := range g.Headers {
		h[name] = values
	}
	if head {
		wire.Set(h, "Content-Length", strconv.FormatInt(v.rec.Size, 10))
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return v.answer(w, ask)
}

// answer sends the span, and its checksums if the request asks for them.
func (v *view) answer(w http.ResponseWriter, ask byteRange) error {
	h := w.Header()
	wire.Set(h, "Content-Length", strconv.FormatInt(v.span.n, 10))
	status := http.StatusOK
	if ask.given {
		status = http.StatusPartialContent
		wire.Set(h, "Content-Range", v.span.header(v.rec.Size))
		if sum, ok := h["Content-MD5"]; ok {
			h["x-ms-blob-content-md5"] = sum // of the whole blob; Content-MD5 would be of the part
			delete(h, "Content-MD5")
		}
	}
	var from io.WriterTo = v
	if ask.md5 || ask.crc {
		var b bytes.Buffer // parseRange and of limit its size
		if _, err := v.WriteTo(&b); err != nil {
			return err
		}
		ask.setSums(h, b.Bytes())
		from = &b
	}
	w.WriteHeader(status)
	to := &client{Writer: w}
	if _, err := from.WriteTo(to); err != nil && !to.gone {
		return &cutError{err}
	}
	return nil
}

func (ask byteRange) setSums(h http.Header, p []byte) {
	if ask.md5 {
		sum := md5.Sum(p)
		wire.Set(h, "Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	if ask.crc {
		sum := binary.LittleEndian.AppendUint64(nil, crc64.Checksum(p, crc64.MakeTable(crcPolynomial)))
		wire.Set(h, "x-ms-content-crc64", base64.StdEncoding.EncodeToString(sum))
	}
}

// getMetadata answers with only a blob's metadata.
func (s *Service) getMetadata(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	cond, err := parseConditions(r.Header)
	if err != nil {
		return err
	}
	v, err := s.open(at, func(rec *record) (span, error) { return span{}, cond.forRead(rec.Changed) })
	if err != nil {
		return err
	}
	setVersion(w.Header(), v.rec.Changed)
	wire.SetMetadata(w.Header(), v.rec.Metadata)
	return errors.Join(wire.Empty(w, http.StatusOK), v.close())
}
