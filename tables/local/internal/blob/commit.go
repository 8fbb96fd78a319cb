package blob

import (
	"cmp"
	"io"
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
)

// putBlockList creates a blob from existing blocks. Repeating it succeeds if it asks
// for the latest blocks, as SDKs do, although they are committed already.
func (s *Service) putBlockList(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	rec, cond, err := parsePut(r)
	if err != nil {
		return err
	}
	rec.Headers.orDefault()
	if err := checkLength(r, maxListBody); err != nil {
		return err
	}
	sums, err := newSums(r)
	if err != nil {
		return err
	}
	list, err := readBlockList(r, sums)
	if err != nil {
		return err
	}
	err = s.change(r, g, at, func(c *change) error {
		if err := cmp.Or(cond.forPut(c.old), c.mustBe(blockBlob)); err != nil {
			return err
		}
		return c.commit(r, rec, list)
	})
	if err != nil {
		return err
	}
	sums.set(w.Header())
	return written(w, http.StatusCreated, rec)
}

// readBlockList reads and checks the body.
func readBlockList(r *wire.Request, sums *sums) ([]listed, error) {
	r.Body = io.NopCloser(sums)
	body, err := r.ReadBody(maxListBody)
	if err != nil {
		return nil, err
	}
	if err := sums.check(); err != nil {
		return nil, err
	}
	return parseBlockList(body)
}

// commit stores rec as a blob of the listed blocks.
func (c *change) commit(r *wire.Request, rec *record, list []listed) error {
	old, staged, err := c.bothBlocks()
	if err != nil {
		return err
	}
	blocks, err := pick(list, byID(old), byID(staged))
	if err != nil {
		return err
	}
	for _, b := range blocks {
		rec.Size += b.Size
	}
	c.setBlocks(old, staged, blocks)
	return c.put(r, rec)
}

// byID maps blocks by ID, without the content that Put Blob wrote.
func byID(blocks []block) map[string]content.Ref {
	m := make(map[string]content.Ref, len(blocks))
	for _, b := range blocks {
		if b.id != "" {
			m[b.id] = b.Ref
		}
	}
	return m
}

// pick returns the listed blocks in order.
func pick(list []listed, committed, uncommitted map[string]content.Ref) ([]block, error) {
	blocks := make([]block, 0, len(list))
	for _, l := range list {
		var ref content.Ref
		var found bool
		if l.from != fromCommitted {
			ref, found = uncommitted[l.id]
		}
		if !found && l.from != fromUncommitted {
			ref, found = committed[l.id]
		}
		if !found {
			return nil, errBlockList
		}
		blocks = append(blocks, block{l.id, ref})
	}
	return blocks, nil
}
