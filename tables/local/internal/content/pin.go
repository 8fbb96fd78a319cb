package content

import "furrow/tables/local/internal/store"

// A pin counts the readers of a file.
type pin struct {
	readers int
	dropped bool // the last reader removes it
}

// Pin prevents the removal of the files of refs until unpin. The caller holds a lock
// under which they are referred to, and which the caller of Drop holds too.
func (k *Keeper) Pin(refs []Ref) (unpin func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range refs {
		if !r.File {
			continue
		}
		p := k.pins[r.ID]
		if p == nil {
			p = &pin{}
			k.pins[r.ID] = p
		}
		p.readers++
	}
	return func() {
		for _, r := range refs {
			if r.File && k.release(r.ID) {
				k.Remove([]ID{r.ID})
			}
		}
	}
}

// release removes one reader from a pin. It reports whether to remove the file.
func (k *Keeper) release(id ID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pins[id]
	if p.readers--; p.readers > 0 {
		return false
	}
	delete(k.pins, id)
	return p.dropped
}

// Drop adds the removal of the owner's refs to b. It returns the files to remove when
// b is durable.
func (k *Keeper) Drop(b *store.Batch, owner store.ID, refs []Ref) (files []ID) {
	for _, r := range refs {
		if r.Size == 0 {
			continue
		}
		b.Delete(r.key(owner))
		if r.File {
			files = append(files, r.ID)
		}
	}
	return files
}

// DropAll drops all contents of an owner.
func (k *Keeper) DropAll(b *store.Batch, owner store.ID) (files []ID, err error) {
	markers, bytes := owner.Key(store.PrefixFile), owner.Key(store.PrefixBytes)
	for e, err := range k.store.Walk(markers, store.After(markers)) {
		if err != nil {
			return nil, err
		}
		files = append(files, ID(e.Key[len(markers):]))
	}
	b.DeleteRange(markers, store.After(markers))
	b.DeleteRange(bytes, store.After(bytes))
	return files, nil
}

// Remove removes dropped files. A file that is being read is removed after its last
// reader, and none is removed during a Hold.
func (k *Keeper) Remove(files []ID) {
	for _, id := range files {
		if !k.needed(id) {
			k.remove(id)
		}
	}
}

// needed reports whether a file is being read, or held. If so, its last reader, or the end of the hold, removes it.
func (k *Keeper) needed(id ID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pins[id]; p != nil {
		p.dropped = true
		return true
	}
	if k.holds > 0 {
		k.held = append(k.held, id)
	}
	return k.holds > 0
}

// remove removes a file that nothing refers to. If that fails, the next Open tries
// again and reports the error.
func (k *Keeper) remove(id ID) { _ = k.fs.Remove(k.path(id)) }
