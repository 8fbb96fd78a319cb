package table

import (
	"net/http"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// policies returns a table's stored access policies, for the verifier.
func (s *Service) policies(_ wire.Service, table string) ([]auth.Policy, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	if m, ok := s.tables[strings.ToLower(table)]; ok {
		return m.Policies, nil
	}
	return nil, nil
}

func (s *Service) getACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	m, err := s.lookup(at.table)
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(m.Policies))
}

// setACL replaces the stored access policies. The change is in force when it is
// answered; on Azure it takes up to 30 s.
func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	policies, err := auth.ReadPolicies(r, "raud")
	if err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	m, err := s.find(at.table)
	if err != nil {
		return err
	}
	// A record is replaced, never changed: readers use it without the lock.
	if err := s.put(s.store.Batch(), &meta{ID: m.ID, Name: m.Name, Policies: policies}); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
