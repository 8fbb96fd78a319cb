package blob

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// A container is a container's record. It is replaced, never changed: readers use it
// without the lock.
type container struct {
	ID       store.ID
	Name     string
	Changed  int64             // ticks
	Metadata map[string]string `json:",omitempty"`
	Policies []auth.Policy     `json:",omitempty"`
}

// Containers serve the operations of containers. Writers of blobs hold them for reading until Apply, so that no blob
// outlives its container.
type containers struct {
	sync.RWMutex
	all     map[string]*container
	store   *store.Store
	content *content.Keeper
}

func containerKey(name string) []byte { return append([]byte{store.PrefixContainer}, name...) }

// load reads the records of all containers.
func (cs *containers) load() error {
	for c, err := range store.Records[container](cs.store, containerKey(""), []byte{store.PrefixContainer + 1}) {
		if err != nil {
			return err
		}
		cs.all[c.Name] = c
	}
	return nil
}

// find returns a container's record. The caller holds the lock.
func (cs *containers) find(name string) (*container, error) {
	if c, ok := cs.all[name]; ok {
		return c, nil
	}
	if err := checkName(name); err != nil && !slices.Contains(systemContainers, name) {
		return nil, err
	}
	return nil, errContainerNotFound
}

// lookup is find for callers that do not hold the lock.
func (cs *containers) lookup(name string) (*container, error) {
	cs.RLock()
	defer cs.RUnlock()
	return cs.find(name)
}

func (cs *containers) create(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	if err := checkName(at.container); err != nil {
		return err
	}
	cs.Lock()
	defer cs.Unlock()
	if _, exists := cs.all[at.container]; exists {
		return errContainerExists // durable, because its creation held this lock
	}
	if err := cs.store.Room.Check(true); err != nil { // what exists takes no room
		return err
	}
	b := cs.store.Batch()
	id, err := cs.store.NewID(b, store.PrefixContainer)
	if err != nil {
		return err
	}
	c := &container{ID: id, Name: at.container, Changed: cs.store.Clock.Tick(r.Now, 0), Metadata: metadata}
	if err := cs.keep(b, c); err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.Empty(w, http.StatusCreated)
}

// keep stores c together with the writes in b and waits for the disk. Changes of
// containers are rare, and block everything else until they are durable. The caller
// holds the lock.
func (cs *containers) keep(b *store.Batch, c *container) error {
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	b.Set(containerKey(c.Name), record)
	if err := cs.store.Apply(b)(); err != nil {
		return err
	}
	cs.all[c.Name] = c
	return nil
}

// change changes a container's record if the request's conditions are met, and answers.
func (cs *containers) change(w http.ResponseWriter, r *wire.Request, name string, change func(*container)) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	cs.Lock()
	defer cs.Unlock()
	old, err := cs.find(name)
	if err != nil {
		return err
	}
	if err := cond.forWrite(old.Changed); err != nil {
		return err
	}
	c := *old
	c.Changed = cs.store.Clock.Tick(r.Now, old.Changed)
	change(&c)
	if err := cs.keep(cs.store.Batch(), &c); err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.Empty(w, http.StatusOK)
}

func (cs *containers) setMetadata(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	return cs.change(w, r, at.container, func(c *container) { c.Metadata = metadata })
}

// properties answers with the properties and metadata of a container.
func (cs *containers) properties(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	c, err := cs.lookup(at.container)
	if err != nil {
		return err
	}
	h := w.Header()
	setVersion(h, c.Changed)
	wire.SetMetadata(h, c.Metadata)
	setUnleased(h)
	wire.Set(h, "x-ms-has-immutability-policy", "false")
	wire.Set(h, "x-ms-has-legal-hold", "false")
	wire.Set(h, "x-ms-default-encryption-scope", "$account-encryption-key")
	wire.Set(h, "x-ms-deny-encryption-scope-override", "false")
	wire.Set(h, "x-ms-immutable-storage-with-versioning-enabled", "false")
	return wire.Empty(w, http.StatusOK)
}

func (cs *containers) delete(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	cs.Lock()
	defer cs.Unlock()
	c, err := cs.find(at.container)
	if err != nil {
		return err
	}
	if err := cond.forWrite(c.Changed); err != nil {
		return err
	}
	b := cs.store.Batch()
	b.Delete(containerKey(c.Name))
	for _, prefix := range []byte{store.PrefixBlob, store.PrefixBlocks, store.PrefixStaged} {
		b.DeleteRange(c.ID.Key(prefix), store.After(c.ID.Key(prefix)))
	}
	files, err := cs.content.DropAll(b, c.ID)
	if err != nil {
		return err
	}
	if err := cs.store.Apply(b)(); err != nil {
		return err
	}
	delete(cs.all, c.Name)
	cs.content.Remove(files)
	return wire.Empty(w, http.StatusAccepted)
}

// policies returns a container's stored access policies, for the verifier.
func (cs *containers) policies(name string) []auth.Policy {
	c, err := cs.lookup(name)
	if err != nil {
		return nil
	}
	return c.Policies
}

func (cs *containers) getACL(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	c, err := cs.lookup(at.container)
	if err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(c.Policies))
}

// setACL replaces a container's stored access policies. The change is in force when
// it is answered; on Azure it takes up to 30 s.
func (cs *containers) setACL(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	policies, err := auth.ReadPolicies(r, "")
	if err != nil {
		return err
	}
	return cs.change(w, r, at.container, func(c *container) { c.Policies = policies })
}

// list lists the account's containers by name.
func (cs *containers) list(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	l, err := parseListing(r)
	if err != nil {
		return err
	}
	p := newPage(r, &l, "Containers", "")
	lower, upper := l.bounds()
	end := []byte{store.PrefixContainer + 1}
	if upper != "" {
		end = containerKey(upper)
	}
	for c, err := range store.Records[container](cs.store, containerKey(lower), end) {
		if err != nil {
			return err
		}
		if p.full() {
			p.next = c.Name
			break
		}
		p.addContainer(c)
	}
	return wire.XML(w, http.StatusOK, p.document())
}
