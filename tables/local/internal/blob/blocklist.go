package blob

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
)

// Bounds of a Put Block List (learn.microsoft.com/rest/api/storageservices/put-block-list).
const (
	maxCommitted = 50_000
	maxListBody  = 10 << 20 // bytes; the longest entries with room for white space
)

var (
	errBlockList = &wire.Error{Status: 400, Code: "InvalidBlockList", Message: "The specified block list is invalid."}
	errListLong  = &wire.Error{Status: 400, Code: "BlockListTooLong", Message: "The block list may not contain more than 50,000 blocks."}
)

// A listed is an entry of a Put Block List: a block's id, and where to look for it.
type listed struct{ from, id string }

// Where a Put Block List takes a block from.
const (
	fromCommitted   = "Committed"
	fromUncommitted = "Uncommitted"
	fromLatest      = "Latest" // uncommitted, else committed
)

// parseBlockList reads the body of Put Block List.
func parseBlockList(body []byte) ([]listed, error) {
	d := xml.NewDecoder(bytes.NewReader(wire.TrimBOM(body)))
	root, err := nextElement(d)
	if err != nil || root == nil || root.Name.Local != "BlockList" {
		return nil, badXML("the body is not a BlockList")
	}
	var list []listed
	for {
		e, err := nextElement(d)
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		var text string
		if text, err = elementText(d); err != nil {
			return nil, err
		}
		from := e.Name.Local
		if from != fromCommitted && from != fromUncommitted && from != fromLatest {
			return nil, badXML("a block is Committed, Uncommitted or Latest")
		}
		id, err := parseBlockID(text)
		if err != nil {
			return nil, err
		}
		if list = append(list, listed{from, id}); len(list) > maxCommitted {
			return nil, errListLong
		}
	}
	if e, err := nextElement(d); e != nil || err != io.EOF {
		return nil, badXML("something follows the BlockList")
	}
	return list, nil
}

// nextElement gives the next element's start, or nil at the end of the one that
// it is in. At the end of the document the error is io.EOF.
func nextElement(d *xml.Decoder) (*xml.StartElement, error) {
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, badXML(err.Error())
		}
		switch t := token.(type) {
		case xml.StartElement:
			return &t, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, badXML("text between elements")
			}
		}
	}
}

// elementText reads the text of an element that has no elements in it, and its end.
func elementText(d *xml.Decoder) (string, error) {
	var text []byte
	for {
		token, err := d.Token()
		if err != nil {
			return "", badXML(err.Error())
		}
		switch t := token.(type) {
		case xml.CharData:
			text = append(text, t...)
		case xml.EndElement:
			return string(bytes.TrimSpace(text)), nil
		case xml.StartElement:
			return "", badXML("a block's id has an element in it")
		}
	}
}

func badXML(reason string) *wire.Error {
	return (&wire.Error{Status: 400, Code: "InvalidXmlDocument", Message: "XML specified is not syntactically valid."}).
		With("Reason", reason)
}

// putBlockList makes a blob of blocks that are there. A repeat whose blocks are
// committed already succeeds if it asked for the latest, as SDKs do.
func (s *Service) putBlockList(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if err := g.Allow("w"); err != nil {
		return err
	}
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
	err = s.change(at, func(c *change) error {
		if err := cond.forPut(c.old); err != nil {
			return err
		}
		return c.commit(r, rec, list)
	})
	if err != nil {
		return err
	}
	sums.set(w.Header())
	return created(w, rec)
}

// readBlockList reads and checks the body. Memory follows what arrives.
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

// commit makes rec a blob of the listed blocks.
func (c *change) commit(r *wire.Request, rec *record, list []listed) error {
	staged, err := c.service.staged(c.container.ID, c.name)
	if err != nil {
		return err
	}
	var old []block
	if c.old != nil {
		if old, err = c.blocks(); err != nil {
			return err
		}
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

// byID finds blocks by their ids. What Put Blob wrote has none and is not found.
func byID(blocks []block) map[string]content.Ref {
	m := make(map[string]content.Ref, len(blocks))
	for _, b := range blocks {
		if b.id != "" {
			m[b.id] = b.Ref
		}
	}
	return m
}

// pick gives the listed blocks in their order.
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

// getBlockList lists a blob's blocks: the committed ones in their order, the
// uncommitted ones by id.
func (s *Service) getBlockList(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if err := g.Allow("r"); err != nil {
		return err
	}
	if err := refuseConditions(r.Header); err != nil {
		return err
	}
	kind := r.Query.Get("blocklisttype")
	switch kind {
	case "":
		kind = "committed"
	case "committed", "uncommitted", "all":
	default:
		return wire.BadQuery("blocklisttype", kind, "It must be committed, uncommitted or all.")
	}
	rec, committed, uncommitted, err := s.allBlocks(at)
	if err != nil {
		return err
	}
	h := w.Header()
	if rec != nil {
		setVersion(h, rec.Changed)
		wire.Set(h, "x-ms-blob-content-length", strconv.FormatInt(rec.Size, 10))
	} else {
		wire.Set(h, "x-ms-blob-content-length", "0")
	}
	body := []byte(wire.XMLHeader + "<BlockList>")
	if kind != "uncommitted" {
		body = appendBlockList(body, "CommittedBlocks", committed)
	}
	if kind != "committed" {
		body = appendBlockList(body, "UncommittedBlocks", uncommitted)
	}
	return answerXML(w, append(body, "</BlockList>"...))
}

func appendBlockList(dst []byte, name string, blocks []block) []byte {
	dst = fmt.Appendf(dst, "<%s>", name)
	for _, b := range blocks {
		if b.id != "" {
			dst = base64.StdEncoding.AppendEncode(append(dst, "<Block><Name>"...), []byte(b.id))
			dst = strconv.AppendInt(append(dst, "</Name><Size>"...), b.Size, 10)
			dst = append(dst, "</Size></Block>"...)
		}
	}
	return fmt.Appendf(dst, "</%s>", name)
}

// allBlocks gives a blob's blocks of both kinds as they are at one moment. The
// record is nil if none was committed; without either there is no blob.
func (s *Service) allBlocks(at target) (rec *record, committed, uncommitted []block, err error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	in, err := s.find(at.container)
	if err != nil {
		return nil, nil, nil, err
	}
	key := blobKey(in.ID, at.blob)
	defer s.locks.Lock(key)()
	if uncommitted, err = s.staged(in.ID, at.blob); err != nil {
		return nil, nil, nil, err
	}
	value, found, err := s.store.Get(key)
	if err != nil {
		return nil, nil, nil, err
	}
	if !found {
		if len(uncommitted) == 0 {
			err = errBlobNotFound
		}
		return nil, nil, uncommitted, err
	}
	if rec, err = parseRecord(value); err != nil {
		return nil, nil, nil, err
	}
	if value, _, err = s.store.Get(blocksKey(in.ID, at.blob)); err != nil {
		return nil, nil, nil, err
	}
	committed, err = parseBlocks(value)
	return rec, committed, uncommitted, err
}
