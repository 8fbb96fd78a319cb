package model

import (
	"context"
	"errors"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// Incident returns an incident with its transitions and notes, or ErrUnknown. It takes at most five storage operations,
// those of the device's record among them.
func (is *IncidentAnswers) Incident(ctx context.Context, id schema.IncidentID) (IncidentAnswer, error) {
	i, err := is.Now(ctx, id)
	if err != nil {
		return IncidentAnswer{}, err
	}
	h := answers.HistoryOf(&i)
	for n := range h.Told {
		if within(ctx) != "" {
			h.Told[n].Error = "" // it may name the target's address
		}
	}
	return IncidentAnswer{IncidentHistory: h}, nil
}

// Now reads an incident from storage, or returns ErrUnknown. For the incident of a tenant that ctx may not see,
// it does what it does for that of an unknown device.
func (is *IncidentAnswers) Now(ctx context.Context, id schema.IncidentID) (i query.Incident, err error) {
	o, err := is.owners.holder(ctx, string(id.Device))
	if err != nil {
		return i, err
	}
	fleet := is.accounts.fleetOf(id.Device)
	i, err = fleet.Incidents().OfMember(ctx, o.member, id)
	if within(ctx) == "" && o.record != nil {
		for _, o.member.Tenant = range o.record.Tenants()[1:] { // it may be of a tenant that had the device
			if errors.Is(err, query.ErrNoIncident) {
				i, err = fleet.Incidents().OfMember(ctx, o.member, id)
			}
		}
	}
	if errors.Is(err, query.ErrNoIncident) {
		err = ErrNoIncident
	}
	return i, err
}

// Forget has the open incidents of a tenant read again at the next poll: somebody has changed one.
func (is *IncidentAnswers) Forget(i query.Incident) {
	is.open.refresh(tenantIn{i.Home.Tenant, is.accounts.accountOf(i.ID.Device).number})
	is.accounts.watch.touch()
}
