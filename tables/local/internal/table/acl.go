package table

import (
	"net/http"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// policies gives a table's stored access policies to the verifier.
func (s *Service) policies(_ wire.Service, table string) ([]auth.Policy, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	if m, ok := s.tables[strings.ToLower(table)]; ok {
		return m.Policies, nil
	}
	return nil, nil
}

// acl gets and sets a table's stored access policies. A change holds from the
// answer on, where Azure takes up to 30 s.
func (s *Service) acl(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p path, method string) error {
	if err := g.OwnerOnly(); err != nil {
		return err
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return s.getACL(w, p.table)
	case http.MethodPut:
		return s.setACL(w, r, p.table)
	}
	return errMethod
}

func (s *Service) getACL(w http.ResponseWriter, table string) error {
	s.schema.RLock()
	m, err := s.find(table)
	s.schema.RUnlock()
	if err != nil {
		return err
	}
	wire.Set(w.Header(), "Content-Type", "application/xml")
	w.Write(auth.FormatPolicies(m.Policies)) // a client that is gone hears nothing
	return nil
}

func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, table string) error {
	body, err := r.ReadBody(auth.MaxPolicyBody)
	if err != nil {
		return err
	}
	policies, err := auth.ParsePolicies(body)
	if err != nil {
		return err
	}
	if err := auth.CheckPermissions(policies, "raud"); err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	m, err := s.find(table)
	if err != nil {
		return err
	}
	// A record is replaced, never changed: readers hold it without the lock.
	changed := &meta{ID: m.ID, Name: m.Name, Policies: policies}
	if err := s.put(s.store.Batch(), changed); err != nil {
		return err
	}
	s.tables[strings.ToLower(table)] = changed
	return empty(w, http.StatusNoContent)
}
