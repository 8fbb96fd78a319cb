package web

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"furrow/worker/dashboard/model"
)

// A CompletenessPage shows what samples have counted in a month. It takes the parameters of /v1/verify.
type CompletenessPage struct {
	foot
	Month  string // such as 2026-11
	This   string // the present month
	Now    time.Time
	Answer model.Completeness
}

func (s *Site) completeness(r *http.Request, q model.MonthQuery) (Page, error) {
	now := time.Now().UTC()
	a, err := s.c.Model.Verified.Completeness(r.Context(), q)
	return &CompletenessPage{Month: q.Of(now).Format("2006-01"), This: now.Format("2006-01"), Now: now, Answer: a}, err
}

// The methods below are called by the template.

// Before returns the address of the month before.
func (p CompletenessPage) Before() string { return p.beside(-1) }

// After returns the address of the month after, unless it is in the future.
func (p CompletenessPage) After() string {
	if p.Month >= p.This {
		return ""
	}
	return p.beside(1)
}

func (p CompletenessPage) beside(months int) string {
	return address("/completeness", url.Values{"tenant": {p.Answer.Tenant}}, "month",
		beside("2006-01", p.Month, months, 0))
}

// Exactly formats a share, rounded down: what is shown as 100 % is all.
func (p CompletenessPage) Exactly(share *float64) string {
	if share == nil || !finite(*share) {
		return "–"
	}
	most := 10_000.0
	if *share < 1 {
		most--
	}
	return fmt.Sprintf("%.2f %%", min(most, math.Floor(10_000**share+1e-6))/100)
}

// Sample formats the share of devices.
func (p CompletenessPage) Sample(share float64) string {
	if !finite(share) {
		return "–"
	}
	return fmt.Sprintf("%.4g %%", 100*share)
}
