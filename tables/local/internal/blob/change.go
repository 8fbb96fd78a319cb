package blob

import (
	"encoding/json"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A change is one write to a blob while it is being made up: what is there, and
// the batch that replaces it.
type change struct {
	*store.Batch
	service   *Service
	container *container
	name      string
	old       *record // nil: there is no blob
	removed   []content.ID
}

// change lets step look at a blob and make up a batch, which becomes visible
// before anybody else can change the blob, and waits for the disk.
//
// A refusal waits too: "it exists already" tells a client that repeats itself
// that its first try was accepted.
func (s *Service) change(at target, step func(*change) error) error {
	c, wait, err := s.applied(at, step)
	if waitErr := wait(); waitErr != nil {
		return waitErr
	}
	if err == nil {
		s.content.Remove(c.removed)
	}
	return err
}

// applied does the part of change that holds locks.
func (s *Service) applied(at target, step func(*change) error) (c *change, wait func() error, err error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	in, err := s.find(at.container)
	if err != nil {
		return nil, s.store.Barrier, err
	}
	key := blobKey(in.ID, at.blob)
	defer s.locks.Lock(key)()
	c = &change{Batch: s.store.Batch(), service: s, container: in, name: at.blob}
	value, found, err := s.store.Get(key)
	if err == nil && found {
		c.old, err = parseRecord(value)
	}
	if err == nil {
		err = step(c)
	}
	if err != nil {
		return nil, s.store.Barrier, joinDrop(err, c.Drop())
	}
	return c, s.store.Apply(c.Batch), nil
}

// joinDrop keeps a refusal a refusal unless the batch could not be given up.
func joinDrop(err, drop error) error {
	if drop != nil {
		return drop
	}
	return err
}

// must gives errBlobNotFound where there is no blob.
func (c *change) must() error {
	if c.old == nil {
		return errBlobNotFound
	}
	return nil
}

// put replaces the record. It gets the time of the change, and keeps that of creation.
func (c *change) put(r *wire.Request, rec *record) error {
	var before int64
	if c.old != nil {
		before = c.old.Changed
	}
	rec.Changed = c.service.store.Clock.Tick(r.Now, before)
	rec.Created = rec.Changed
	if c.old != nil {
		rec.Created = c.old.Created
	}
	value, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	c.Set(blobKey(c.container.ID, c.name), value)
	return nil
}

// blocks are the blob's committed blocks, of which a blob that does not exist has none.
func (c *change) blocks() ([]block, error) {
	if c.old == nil {
		return nil, nil
	}
	value, _, err := c.service.store.Get(blocksKey(c.container.ID, c.name))
	if err != nil {
		return nil, err
	}
	return parseBlocks(value)
}

// setBlocks replaces the blocks and ends every uncommitted one. Contents that
// were referred to and are not among blocks go.
func (c *change) setBlocks(old, staged, blocks []block) {
	used := make(map[content.ID]bool, len(blocks))
	for _, b := range blocks {
		used[b.ID] = true
	}
	for _, list := range [][]block{old, staged} {
		for _, b := range list {
			if !used[b.ID] {
				c.removed = append(c.removed, c.service.content.Drop(c.Batch, c.container.ID, []content.Ref{b.Ref})...)
				used[b.ID] = true // a content may be in a blob twice
			}
		}
	}
	if len(staged) > 0 {
		c.Delete(stagedKey(c.container.ID, c.name, ""))
	}
	for _, b := range staged {
		c.Delete(stagedKey(c.container.ID, c.name, b.id))
	}
	key := blocksKey(c.container.ID, c.name)
	if len(blocks) > 0 {
		c.Set(key, appendBlocks(nil, blocks))
	} else if c.old != nil {
		c.Delete(key)
	}
}

// replace is setBlocks by who has not looked at what is there.
func (c *change) replace(blocks []block) error {
	staged, err := c.service.staged(c.container.ID, c.name)
	if err != nil {
		return err
	}
	old, err := c.blocks()
	if err != nil {
		return err
	}
	c.setBlocks(old, staged, blocks)
	return nil
}
