package blob

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// policies returns a container's stored access policies, for the verifier.
func (s *Service) policies(_ wire.Service, name string) ([]auth.Policy, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	if c, ok := s.containers[name]; ok {
		return c.Policies, nil
	}
	return nil, nil
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
	c, err := s.changeContainer(r, at.container, func(c *container) { c.Policies = policies })
	if err != nil {
		return err
	}
	setVersion(w.Header(), c.Changed)
	return wire.Empty(w, http.StatusOK)
}
