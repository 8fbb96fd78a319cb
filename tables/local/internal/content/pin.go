package content

import "furrow/tables/local/internal/store"

// A pin counts who reads a file.
type pin struct {
	readers int
	dropped bool // to be removed by the last
}

// Pin holds the files of refs until unpin. The caller makes sure that they are
// referred to at the time of the call, with a lock that Drop's caller takes too.
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
	return func() { k.unpin(refs) }
}

func (k *Keeper) unpin(refs []Ref) {
	for _, r := range refs {
		if r.File && k.release(r.ID) {
			k.remove(r.ID)
		}
	}
}

// release takes one reader off a pin, and tells whether the file is to be removed.
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

// Drop puts into b that its owner refers to refs no more, and gives the files to
// Remove when b is durable.
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

// DropAll is Drop of everything that owner has.
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

// Remove removes files that were dropped, those that are being read when the
// last reader is done.
func (k *Keeper) Remove(files []ID) {
	for _, id := range files {
		if !k.pinned(id) {
			k.remove(id)
		}
	}
}

// pinned tells whether the file is being read; if so, its last reader removes it.
func (k *Keeper) pinned(id ID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pins[id]
	if p != nil {
		p.dropped = true
	}
	return p != nil
}

// remove removes a file that nothing refers to. One that cannot be removed is
// a leftover to the next Open, which reports it if it cannot either.
func (k *Keeper) remove(id ID) { _ = k.fs.Remove(k.path(id)) }
