package blob

import (
	"bytes"
	"errors"
	"fmt"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
)

// blame adds the blob that a missing file belongs to to the error.
func (s *Service) blame(err error) error {
	m, ok := errors.AsType[*content.Missing](err)
	if !ok {
		return err
	}
	name, findErr := s.holder(m)
	if findErr != nil {
		return errors.Join(err, findErr)
	}
	for _, c := range s.containers.all {
		if c.ID == m.Owner {
			name = c.Name + "/" + name
		}
	}
	return fmt.Errorf("blob %s: %w", name, err)
}

// holder finds the blob with a block, committed or not, that refers to a content.
func (s *Service) holder(m *content.Missing) (string, error) {
	for _, prefix := range []byte{store.PrefixBlocks, store.PrefixStaged} {
		from := m.Owner.Key(prefix)
		for e, err := range s.store.Walk(from, store.After(from)) {
			if err != nil {
				return "", err
			}
			if refers(prefix, e.Value, m.ID) {
				name, _, _ := bytes.Cut(e.Key[len(from):], []byte{0})
				return string(name), nil
			}
		}
	}
	return "", errors.New("no blob refers to it")
}

func refers(prefix byte, value []byte, id content.ID) bool {
	if prefix == store.PrefixStaged {
		ref, _, err := content.CutRef(value)
		return err == nil && ref.ID == id
	}
	for b, err := range readBlocks(value) {
		if err == nil && b.ID == id {
			return true
		}
	}
	return false
}
