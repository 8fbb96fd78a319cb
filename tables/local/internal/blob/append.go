package blob

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/http"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Limits of append blobs (learn.microsoft.com/rest/api/storageservices/append-block).
const (
	maxAppend   = 100 << 20 // bytes of a block
	maxAppended = 50_000    // blocks
)

var (
	errAppendPosition = &wire.Error{Status: http.StatusPreconditionFailed, Code: "AppendPositionConditionNotMet",
		Message: "The append position condition specified was not met."}
	errAppendSize = &wire.Error{Status: http.StatusPreconditionFailed, Code: "MaxBlobSizeConditionNotMet",
		Message: "The max blob size condition specified was not met."}
	errAppended = &wire.Error{Status: http.StatusConflict, Code: "BlockCountExceedsLimit",
		Message: "The committed block count cannot exceed the maximum limit of 50,000 blocks."}
)

// appendConditions are the conditions of Append Block alone; -1 where absent.
type appendConditions struct{ position, size int64 }

func parseAppendConditions(h http.Header) (c appendConditions, err error) {
	for name, to := range map[string]*int64{"x-ms-blob-condition-appendpos": &c.position,
		"x-ms-blob-condition-maxsize": &c.size} {
		*to = -1
		if text := h.Get(name); text != "" {
			n, ok := parseOffset(text)
			if !ok {
				return c, wire.BadHeader(name, text)
			}
			*to = n
		}
	}
	return c, nil
}

// check returns an error if n more bytes may not be appended to a blob.
func (c appendConditions) check(to *record, n int64) error {
	switch {
	case c.position >= 0 && c.position != to.Size:
		return errAppendPosition
	case c.size >= 0 && to.Size+n > c.size:
		return errAppendSize
	case to.Appended >= maxAppended:
		return errAppended
	}
	return nil
}

// appendBlock adds a block to the end of an append blob.
func (s *Service) appendBlock(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	more, err := parseAppendConditions(r.Header)
	if err != nil {
		return err
	}
	draft, sums, err := s.receiveBlock(r, g, at, maxAppend)
	if err != nil {
		return err
	}
	defer draft.Discard()
	var rec record
	err = s.change(r, g, at, func(c *change) error {
		if c.old == nil {
			return errBlobNotFound
		}
		err := cmp.Or(c.mustBe(appendBlob), cond.forWrite(c.old.Changed), more.check(c.old, draft.Size))
		if err != nil {
			return err
		}
		rec = *c.old
		return c.append(r, &rec, draft)
	})
	if err != nil {
		return err
	}
	sums.set(w.Header())
	wire.Set(w.Header(), "x-ms-blob-append-offset", strconv.FormatInt(rec.Size-draft.Size, 10))
	wire.Set(w.Header(), "x-ms-blob-committed-block-count", strconv.Itoa(rec.Appended))
	return written(w, http.StatusCreated, &rec)
}

func (c *change) append(r *wire.Request, rec *record, draft *content.Draft) error {
	c.Set(appendedKey(c.container.ID, c.name, rec.Size), appendBlocks(nil, []block{{Ref: draft.Ref}}))
	draft.Keep(c.Batch, c.container.ID)
	rec.Size += draft.Size
	rec.Appended++
	return c.put(r, rec)
}

// deleteAppended deletes the records of the blocks of an append blob.
func (c *change) deleteAppended() {
	c.DeleteRange(appendedKey(c.container.ID, c.name, 0), appendedKey(c.container.ID, c.name, math.MaxInt64))
}

// appended returns the record of the blocks of an append blob that a span is in, and the offset at which the first one
// begins. The caller holds the blob's lock.
func (s *Service) appended(id store.ID, name string, of span) (record []byte, at int64, err error) {
	first := appendedKey(id, name, 0)
	it, err := s.store.Iter(first, appendedKey(id, name, of.off+of.n))
	if err != nil {
		return nil, 0, err
	}
	defer it.Close()
	record = []byte{blocksFormat}
	for more := it.SeekLT(appendedKey(id, name, of.off+1)); more; more = it.Next() {
		if len(record) == 1 {
			at = int64(binary.BigEndian.Uint64(it.Key()[len(first)-8:]))
		}
		record = append(record, it.Value()[1:]...)
	}
	return record, at, it.Error()
}
