package blob

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2"
)

// A cursor iterates over a container's blobs by name and, on request, over the names
// that have only uncommitted blocks.
type cursor struct {
	id            store.ID
	staged, blobs *pebble.Iterator // staged may be nil
	name          string           // after find
	committed     bool             // name is a blob, not only uncommitted blocks
}

// cursor opens a cursor on the names in [lower, upper); an empty upper is no limit.
// It opens the uncommitted names first, so that it does not miss a blob that is
// committed meanwhile.
func (s *Service) cursor(id store.ID, lower, upper string, uncommitted bool) (c *cursor, err error) {
	c = &cursor{id: id}
	if uncommitted {
		if c.staged, err = s.iter(id, store.PrefixStaged, lower, upper); err != nil {
			return nil, err
		}
		c.staged.First()
	}
	if c.blobs, err = s.iter(id, store.PrefixBlob, lower, upper); err != nil {
		c.close()
		return nil, err
	}
	c.blobs.First()
	return c, nil
}

func (s *Service) iter(id store.ID, prefix byte, lower, upper string) (*pebble.Iterator, error) {
	end := store.After(id.Key(prefix))
	if upper != "" {
		end = append(id.Key(prefix), upper...)
	}
	return s.store.Iter(append(id.Key(prefix), lower...), end)
}

// find sets the name at the cursor. It returns false at the end.
func (c *cursor) find() bool {
	const head = 9 // prefix and id
	c.committed = c.blobs.Valid()
	if c.committed {
		c.name = string(c.blobs.Key()[head:])
	}
	if c.staged == nil || !c.staged.Valid() {
		return c.committed
	}
	name, _, _ := bytes.Cut(c.staged.Key()[head:], []byte{0})
	if !c.committed || string(name) < c.name {
		c.name, c.committed = string(name), false
	}
	return true
}

// seek moves to the first name that is at least name. Names contain no NUL, so name
// and a NUL is the next possible name.
func (c *cursor) seek(name string) {
	c.blobs.SeekGE(append(c.id.Key(store.PrefixBlob), name...))
	if c.staged != nil {
		behind, is := bytes.CutSuffix([]byte(name), []byte{0})
		if is {
			name = string(behind) + "\x01" // after the name's blocks
		}
		c.staged.SeekGE(append(c.id.Key(store.PrefixStaged), name...))
	}
}

// record returns the record at the cursor. A name with only uncommitted blocks is an
// empty blob, changed when the last block was put.
func (c *cursor) record() (*record, error) {
	if c.committed {
		return parseRecord(c.blobs.Value())
	}
	var p pending
	if err := json.Unmarshal(c.staged.Value(), &p); err != nil {
		return nil, fmt.Errorf("record of uncommitted blocks: %w", err)
	}
	return &record{Created: p.Changed, Changed: p.Changed}, nil
}

func (c *cursor) err() error {
	if c.staged == nil {
		return c.blobs.Error()
	}
	return errors.Join(c.blobs.Error(), c.staged.Error())
}

// close closes the iterators. err has returned their errors.
func (c *cursor) close() {
	for _, it := range []*pebble.Iterator{c.staged, c.blobs} {
		if it != nil {
			it.Close()
		}
	}
}
