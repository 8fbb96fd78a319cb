package blob

import (
	"encoding/json"
	"net/http"
	"slices"

	"furrow/tables/local/internal/auth"
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

func containerKey(name string) []byte { return append([]byte{store.PrefixContainer}, name...) }

// load reads the records of all containers.
func (s *Service) load() error {
	for c, err := range store.Records[container](s.store, containerKey(""), []byte{store.PrefixContainer + 1}) {
		if err != nil {
			return err
		}
		s.containers[c.Name] = c
	}
	return nil
}

// find returns a container's record. The caller holds schema.
func (s *Service) find(name string) (*container, error) {
	if c, ok := s.containers[name]; ok {
		return c, nil
	}
	if err := checkName(name); err != nil && !slices.Contains(systemContainers, name) {
		return nil, err
	}
	return nil, errContainerNotFound
}

// lookup is find for callers that do not hold schema.
func (s *Service) lookup(name string) (*container, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	return s.find(name)
}

func (s *Service) createContainer(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	if err := checkName(at.container); err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	if _, exists := s.containers[at.container]; exists {
		return errContainerExists // durable, because its creation held this lock
	}
	if err := s.store.Room.Check(true); err != nil { // what exists takes no room
		return err
	}
	b := s.store.Batch()
	id, err := s.store.NewID(b, store.PrefixContainer)
	if err != nil {
		return err
	}
	c := &container{ID: id, Name: at.container, Changed: s.store.Clock.Tick(r.Now, 0), Metadata: metadata}
	if err := s.keep(b, c); err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.Empty(w, http.StatusCreated)
}

// keep stores c together with the writes in b and waits for the disk. Changes of
// containers are rare, and block everything else until they are durable. The caller
// holds schema.
func (s *Service) keep(b *store.Batch, c *container) error {
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	b.Set(containerKey(c.Name), record)
	if err := s.store.Apply(b)(); err != nil {
		return err
	}
	s.containers[c.Name] = c
	return nil
}

// changeContainer changes a container's record if the request's conditions are met, and answers.
func (s *Service) changeContainer(w http.ResponseWriter, r *wire.Request, name string, change func(*container)) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	old, err := s.find(name)
	if err != nil {
		return err
	}
	if err := cond.forWrite(old.Changed); err != nil {
		return err
	}
	c := *old
	c.Changed = s.store.Clock.Tick(r.Now, old.Changed)
	change(&c)
	if err := s.keep(s.store.Batch(), &c); err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.Empty(w, http.StatusOK)
}

func (s *Service) setContainerMetadata(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	return s.changeContainer(w, r, at.container, func(c *container) { c.Metadata = metadata })
}

// containerProperties answers with the properties and metadata of a container.
func (s *Service) containerProperties(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	c, err := s.lookup(at.container)
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

func (s *Service) deleteContainer(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	c, err := s.find(at.container)
	if err != nil {
		return err
	}
	if err := cond.forWrite(c.Changed); err != nil {
		return err
	}
	b := s.store.Batch()
	b.Delete(containerKey(c.Name))
	for _, prefix := range []byte{store.PrefixBlob, store.PrefixBlocks, store.PrefixStaged} {
		b.DeleteRange(c.ID.Key(prefix), store.After(c.ID.Key(prefix)))
	}
	files, err := s.content.DropAll(b, c.ID)
	if err != nil {
		return err
	}
	if err := s.store.Apply(b)(); err != nil {
		return err
	}
	delete(s.containers, c.Name)
	s.content.Remove(files)
	return wire.Empty(w, http.StatusAccepted)
}

// policies returns a container's stored access policies, for the verifier.
func (s *Service) policies(name string) []auth.Policy {
	c, err := s.lookup(name)
	if err != nil {
		return nil
	}
	return c.Policies
}

func (s *Service) getACL(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	c, err := s.lookup(at.container)
	if err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(c.Policies))
}

// setACL replaces a container's stored access policies. The change is in force when
// it is answered; on Azure it takes up to 30 s.
func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	policies, err := auth.ReadPolicies(r, "")
	if err != nil {
		return err
	}
	return s.changeContainer(w, r, at.container, func(c *container) { c.Policies = policies })
}
