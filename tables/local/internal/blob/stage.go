package blob

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Limits of blocks (learn.microsoft.com/rest/api/storageservices/put-block).
const (
	maxBlock       = 4000 << 20
	maxBlockID     = 64 // bytes, decoded
	maxUncommitted = 100_000
	idleBlocks     = 7 * 24 * time.Hour // uncommitted blocks are removed this long after the last Put Block
)

var (
	errBlockID = &wire.Error{Status: 400, Code: "InvalidBlockId",
		Message: "The specified block ID is invalid. The block ID must be Base64-encoded."}
	errBlockIDLength = &wire.Error{Status: 400, Code: "InvalidBlobOrBlock",
		Message: "The specified blob or block content is invalid."}
	errUncommitted = &wire.Error{Status: 409, Code: "BlockCountExceedsLimit",
		Message: "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks."}
)

// A pending is the record that precedes a blob's uncommitted blocks.
type pending struct {
	Count   int
	Changed int64 // ticks
}

// parseBlockID decodes a block's ID.
func parseBlockID(text string) (string, error) {
	id, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(id) == 0 || len(id) > maxBlockID {
		return "", errBlockID
	}
	return string(id), nil
}

// putBlock stores an uncommitted block. Repeating it replaces the block.
func (s *Service) putBlock(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if !r.Query.Has("blockid") {
		return wire.MissingQuery("blockid")
	}
	id, err := parseBlockID(r.Query.Get("blockid"))
	if err != nil {
		return err
	}
	if err := refuseConditions(r.Header); err != nil {
		return err
	}
	draft, sums, err := s.receiveBlock(r, g, at, maxBlock)
	if err != nil {
		return err
	}
	defer draft.Discard()
	if err := s.change(r, g, at, func(c *change) error { return c.stage(r, id, draft) }); err != nil {
		return err
	}
	sums.set(w.Header())
	wire.Set(w.Header(), "x-ms-request-server-encrypted", "true")
	return wire.Empty(w, http.StatusCreated)
}

func (c *change) stage(r *wire.Request, id string, draft *content.Draft) error {
	if err := c.mustBe(blockBlob); err != nil {
		return err
	}
	p, length, err := c.pending()
	if err != nil {
		return err
	}
	if p.Count > 0 && length != len(id) {
		return errBlockIDLength
	}
	key := stagedKey(c.container.ID, c.name, id)
	old, found, err := c.service.store.Get(key)
	if err != nil {
		return err
	}
	if found {
		ref, _, err := content.CutRef(old)
		if err != nil {
			return err
		}
		c.removed = c.service.content.Drop(c.Batch, c.container.ID, []content.Ref{ref})
	} else if p.Count++; p.Count > maxUncommitted {
		return errUncommitted
	}
	p.Changed = c.service.store.Clock.Tick(r.Clock(), p.Changed)
	head, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.Set(stagedKey(c.container.ID, c.name, ""), head)
	c.Set(key, draft.Append(nil))
	draft.Keep(c.Batch, c.container.ID)
	return nil
}

// pending returns the record of the uncommitted blocks and the length of their IDs.
func (c *change) pending() (p pending, length int, err error) {
	head := stagedKey(c.container.ID, c.name, "")
	it, err := c.service.store.Iter(head, store.After(head))
	if err != nil {
		return p, 0, err
	}
	defer it.Close()
	if !it.First() {
		return p, 0, it.Error()
	}
	if err := json.Unmarshal(it.Value(), &p); err != nil {
		return p, 0, fmt.Errorf("record of uncommitted blocks: %w", err)
	}
	if it.Next() {
		length = len(it.Key()) - len(head)
	}
	return p, length, it.Error()
}

// staged returns a blob's uncommitted blocks by ID.
func (s *Service) staged(id store.ID, name string) ([]block, error) {
	head := stagedKey(id, name, "")
	var blocks []block
	for e, err := range s.store.Walk(append(head, 0), store.After(head)) {
		if err != nil {
			return nil, err
		}
		b := block{id: string(e.Key[len(head):])}
		if b.Ref, _, err = content.CutRef(e.Value); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// expire removes uncommitted blocks that are a week old. It runs before the service
// receives requests.
func (s *Service) expire(now time.Time) error {
	r := &wire.Request{Clock: time.Now}
	byID := map[store.ID]string{}
	for _, c := range s.containers.all {
		byID[c.ID] = c.Name
	}
	it, err := s.store.Iter([]byte{store.PrefixStaged}, []byte{store.PrefixStaged + 1})
	if err != nil {
		return err
	}
	defer it.Close()
	before := store.ToTicks(now.Add(-idleBlocks))
	for it.First(); it.Valid(); {
		id := store.ID(binary.BigEndian.Uint64(it.Key()[1:]))
		name, _, _ := bytes.Cut(it.Key()[9:], []byte{0})
		at := target{byID[id], string(name)}
		var p pending
		if err := json.Unmarshal(it.Value(), &p); err != nil {
			return fmt.Errorf("record of uncommitted blocks of %s/%s: %w", at.container, at.blob, err)
		}
		if p.Changed < before {
			if err := s.change(r, &auth.Grant{Owner: true}, at, (*change).forget); err != nil {
				return err
			}
		}
		it.SeekGE(store.After(stagedKey(id, at.blob, "")))
	}
	return it.Error()
}

// forget removes the uncommitted blocks and leaves the blob unchanged.
func (c *change) forget() error {
	blocks, staged, err := c.bothBlocks()
	if err == nil {
		c.setBlocks(blocks, staged, blocks)
	}
	return err
}
