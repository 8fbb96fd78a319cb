package web

import (
	"net/http"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
)

// An ActivityPage lists who did what, the newest first.
type ActivityPage struct {
	foot
	Now      time.Time
	From, To time.Time
	Acts     []schema.Act
	More     bool // there are older acts in this time
}

func (ActivityPage) file() string { return "activity.html" }

// activity shows the acts that are about the person's tenant, or all.
func (s *Site) activity(r *http.Request, p api.Times) (Page, error) {
	now := time.Now()
	a, acts, err := api.ReadActs(r.Context(), s.c.Activity, p)
	return &ActivityPage{Now: now.UTC(), From: a.From, To: a.To, Acts: acts, More: a.More}, err
}
