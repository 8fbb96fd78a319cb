package web

import (
	"net/http"
	"time"

	"furrow/worker/dashboard/api"
)

// An ActivityPage lists who did what, the newest first.
type ActivityPage struct {
	foot
	Now time.Time
	api.Activity
}

// activity shows the acts that are about the person's tenant, or all.
func (s *Site) activity(r *http.Request, p api.Times) (Page, error) {
	a, err := api.ReadActs(r.Context(), s.c.Activity, p)
	return &ActivityPage{Now: time.Now().UTC(), Activity: a}, err
}
