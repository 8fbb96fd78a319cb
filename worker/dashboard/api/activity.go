package api

import (
	"context"
	"time"

	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
)

// An Activity is the answer of /v1/activity.
type Activity struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Acts []Act     `json:"acts"`           // the newest first
	More bool      `json:"more,omitempty"` // there are older acts in this time
}

// An Act is something that somebody did to the fleet.
type Act struct {
	At     time.Time `json:"at"` // when it began
	Who    string    `json:"who"`
	From   string    `json:"from"` // dashboard or command
	What   string    `json:"what"` // the command that does the same, such as device revoke
	Device string    `json:"device,omitempty"`
	Tenant string    `json:"tenant,omitempty"` // that it is about; without it the fleet
	Detail string    `json:"detail,omitempty"`
	// or the error; without it the act is under way, or its outcome is unknown
	Outcome string `json:"outcome,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
}

const (
	activitySpan = 30 * 24 * time.Hour // when no time is chosen
	maxActs      = 200
)

// ReadActs reads the acts of the chosen time that are about the person's tenant, or all.
func ReadActs(ctx context.Context, log access.Log, p Times) (a Activity, err error) {
	latest := time.Now().Add(time.Minute).UTC() // the clock of whoever acted may be ahead
	a = Activity{To: latest, Acts: []Act{}}
	if p.To != nil && p.To.Before(latest) {
		a.To = *p.To
	}
	if a.From = tables.TicksOf(a.To.Add(-activitySpan)).Time(); p.From != nil {
		a.From = *p.From
	}
	for act, err := range log.Acts(ctx, PersonOf(ctx).Tenant, a.From, a.To) {
		if err != nil {
			return a, err
		}
		if a.More = len(a.Acts) == maxActs; a.More {
			break
		}
		a.Acts = append(a.Acts, Act{At: act.At.Time(), Who: act.Who, From: act.From, What: act.What,
			Device: string(act.Device), Tenant: string(act.Tenant), Detail: act.Detail,
			Outcome: OutcomeFor(PersonOf(ctx), act), Failed: act.Failed})
	}
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
