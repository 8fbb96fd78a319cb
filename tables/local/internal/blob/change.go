package blob

import (
	"cmp"
	"encoding/json"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A change is a write to a blob that is being prepared: the current record and the
// batch that replaces it.
type change struct {
	*store.Batch
	service   *Service
	container *container
	name      string
	old       *record // nil: the blob does not exist
	removed   []content.ID
}

// change lets step read a blob and prepare a batch. It applies the batch before
// anyone else can change the blob, and waits for the disk.
//
// It also waits if step refuses: "it exists already" tells a client that repeats a
// request that the first one was done.
func (s *Service) change(r *wire.Request, g *auth.Grant, at target, step func(*change) error) error {
	c, wait, err := s.applied(r, g, at, step)
	if err = cmp.Or(wait(), err); err == nil {
		s.content.Remove(c.removed)
	}
	return err
}

// applied is the part of change that holds locks.
func (s *Service) applied(r *wire.Request, g *auth.Grant, at target,
	step func(*change) error) (c *change, wait func() error, err error) {
	s.containers.RLock()
	defer s.containers.RUnlock()
	in, err := s.containers.find(at.container)
	if err == nil {
		err = g.Recheck(in.Policies, r.Clock())
	}
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
		return nil, s.store.Barrier, cmp.Or(c.Drop(), err)
	}
	return c, s.store.Apply(c.Batch), nil
}

// put replaces the record. It sets the time of the change and keeps the time of creation.
func (c *change) put(r *wire.Request, rec *record) error {
	var before int64
	if c.old != nil {
		before = c.old.Changed
	}
	rec.Changed = c.service.store.Clock.Tick(r.Clock(), before)
	rec.Created = rec.Changed
	if rec.Copy != nil && rec.Copy.At == 0 {
		rec.Copy.At = rec.Changed
	}
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

// mustBe returns errBlobType for an existing blob of another type.
func (c *change) mustBe(kind string) error {
	if c.old != nil && c.old.kind() != kind {
		return errBlobType
	}
	return nil
}

// blocks returns the blob's committed blocks, none if the blob does not exist.
func (c *change) blocks() ([]block, error) {
	if c.old == nil {
		return nil, nil
	}
	var value []byte
	var err error
	if c.old.Append {
		value, _, err = c.service.appended(c.container.ID, c.name, span{0, c.old.Size})
	} else {
		value, _, err = c.service.store.Get(blocksKey(c.container.ID, c.name))
	}
	if err != nil {
		return nil, err
	}
	return parseBlocks(value)
}

// setBlocks replaces the committed blocks and removes the uncommitted ones. It drops
// the contents of old and staged blocks that are not in blocks.
func (c *change) setBlocks(old, staged, blocks []block) {
	used := make(map[content.ID]bool, len(blocks))
	for _, b := range blocks {
		used[b.ID] = true
	}
	for _, list := range [][]block{old, staged} {
		for _, b := range list {
			if !used[b.ID] {
				c.removed = append(c.removed, c.service.content.Drop(c.Batch, c.container.ID, []content.Ref{b.Ref})...)
				used[b.ID] = true // a blob may contain a content twice
			}
		}
	}
	if len(staged) > 0 {
		c.Delete(stagedKey(c.container.ID, c.name, ""))
	}
	for _, b := range staged {
		c.Delete(stagedKey(c.container.ID, c.name, b.id))
	}
	if c.old != nil && c.old.Append {
		c.deleteAppended()
	}
	key := blocksKey(c.container.ID, c.name)
	if len(blocks) > 0 {
		c.Set(key, appendBlocks(nil, blocks))
	} else if c.old != nil {
		c.Delete(key)
	}
}

// bothBlocks returns the blob's committed and its uncommitted blocks.
func (c *change) bothBlocks() (old, staged []block, err error) {
	if staged, err = c.service.staged(c.container.ID, c.name); err == nil {
		old, err = c.blocks()
	}
	return old, staged, err
}

// replace reads the current blocks and calls setBlocks.
func (c *change) replace(blocks []block) error {
	old, staged, err := c.bothBlocks()
	if err == nil {
		c.setBlocks(old, staged, blocks)
	}
	return err
}
