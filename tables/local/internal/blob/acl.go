package blob

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// policies gives a container's stored access policies to the verifier.
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

// setACL sets a container's stored access policies. A change holds from the
// answer on, where Azure takes up to 30 s.
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
