package web

import (
	"net/http"
	"time"

	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
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

const (
	activitySpan = 30 * 24 * time.Hour // shown when no time is chosen
	maxActs      = 200
)

// activity shows the acts that are about the person's tenant, or all.
func (s *Site) activity(r *http.Request, p api.Params) (Page, model.Read, error) {
	now := time.Now()
	page := &ActivityPage{Now: now.UTC(), From: p.From, To: p.To}
	if page.To.IsZero() {
		page.To = now.Add(time.Minute).UTC() // the clock of whoever acted may be ahead
	}
	if page.From.IsZero() {
		page.From = page.To.Add(-activitySpan)
	}
	read := model.Read{At: now}
	acts := s.c.Activity.Acts(r.Context(), api.PersonOf(r.Context()).Tenant, page.From, page.To)
	for a, err := range acts {
		if err != nil {
			return nil, read, err
		}
		if page.More = len(page.Acts) == maxActs; page.More {
			break
		}
		page.Acts = append(page.Acts, a)
	}
	return page, read, nil
}
