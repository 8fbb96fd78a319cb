package api

import (
	"context"
	"time"

	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// An Activity is the answer of /v1/activity.
type Activity struct {
	From time.Time     `json:"from"`
	To   time.Time     `json:"to"`
	Acts []answers.Act `json:"acts"`           // the newest first
	More bool          `json:"more,omitempty"` // there are older acts in this time

	// acts that this program cannot read, such as those of a newer program; absent for none
	Unreadable int64 `json:"unreadable,omitempty"`
}

const (
	activitySpan = 30 * 24 * time.Hour // when no time is chosen
	maxActs      = 200
)

// ReadActs reads the acts of the chosen time that are about the person's tenant, or all.
func ReadActs(ctx context.Context, log access.Log, p Times) (a Activity, err error) {
	latest := time.Now().Add(time.Minute).UTC() // the clock of whoever acted may be ahead
	a = Activity{To: latest, Acts: []answers.Act{}}
	if p.To != nil && p.To.Before(latest) {
		a.To = *p.To
	}
	if a.From = tables.TicksOf(a.To.Add(-activitySpan)).Time(); p.From != nil {
		a.From = *p.From
	}
	var skipped query.Skipped
	for act, err := range query.Readable(log.Acts(ctx, PersonOf(ctx).Tenant, a.From, a.To), &skipped) {
		if err != nil {
			return a, err
		}
		if a.More = len(a.Acts) == maxActs; a.More {
			break
		}
		act.Outcome = OutcomeFor(PersonOf(ctx), act)
		a.Acts = append(a.Acts, answers.ActOf(act))
	}
	a.Unreadable = skipped.N
	return a, nil
}

// OutcomeFor returns the outcome of an act as a person may see it. Whoever runs commands sees all tenants: their errors
// may name other tenants or storage, and the outcome of a move names the former tenant.
func OutcomeFor(p Person, a schema.Act) string {
	switch {
	case p.Tenant == "" || a.From != admin.FromCommand:
	case a.Failed:
		return "whoever sees all tenants sees why"
	case a.What == admin.MoveAct:
		return "moved"
	}
	return a.Outcome
}
