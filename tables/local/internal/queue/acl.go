package queue

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// getACL answers with the stored access policies.
func (h *handler) getACL(w http.ResponseWriter, name string) error {
	var policies []auth.Policy
	err := h.with(name, func(q *queue) (func() error, error) {
		policies = q.record.Policies
		return nil, nil
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, auth.FormatPolicies(policies))
}

// setACL replaces the stored access policies. A change holds from the answer on,
// where Azure takes up to 30 s.
func (h *handler) setACL(w http.ResponseWriter, r *wire.Request, name string) error {
	body, err := r.ReadBody(auth.MaxPolicyBody)
	if err != nil {
		return err
	}
	policies, err := auth.ParsePolicies(body)
	if err != nil {
		return err
	}
	if err := auth.CheckPermissions(policies, "raup"); err != nil {
		return err
	}
	if err := h.edit(name, func(c *record) { c.Policies = policies }); err != nil {
		return err
	}
	return empty(w, http.StatusNoContent)
}
