package queue

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

func (s *Service) getACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	var policies []auth.Policy
	err := s.with(at.queue, func(q *queue) (func() error, error) {
		policies = q.record.Policies
		return nil, nil
	})
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(policies))
}

// setACL replaces the stored access policies. The change is in force when it is
// answered; on Azure it takes up to 30 s.
func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	policies, err := auth.ReadPolicies(r, "raup")
	if err != nil {
		return err
	}
	if err := s.edit(at.queue, func(c *record) { c.Policies = policies }); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
