package api

import (
	"context"

	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/model"
)

// A Person makes a request. The zero Person may see nothing of the fleet.
type Person struct {
	Name   string // empty where nobody has to sign in
	Role   schema.Role
	Tenant schema.Tenant // that the person may see; empty: all

	// Form is the secret that the forms of this person's pages must have, so that no other site can send them.
	// Empty: the person cannot act from pages.
	Form string
	// Token says that the request has a bearer token. Browsers send none by themselves, so it needs no form.
	Token bool
}

type personKey struct{}

// With returns a context for a person's request, in which the model answers about the person's tenant only, and notes
// how it has read what it answers.
func (p Person) With(ctx context.Context) context.Context {
	ctx, _ = model.Reading(ctx)
	return model.By(model.Within(context.WithValue(ctx, personKey{}, p), string(p.Tenant)), p.Name)
}

// PersonOf returns who makes a request.
func PersonOf(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}

// actor returns who acts in the activity log.
func actor(p Person) admin.Actor { return admin.Actor{Name: p.Name, From: "API"} }

// MaySeeTerms returns a problem unless the person may see what tenants cost, and what is kept of theirs: of a tenant's
// people, its admins may.
func (p Person) MaySeeTerms() error {
	if p.Tenant == "" || p.Role == schema.Admin {
		return nil
	}
	return NewProblem(Forbidden, "Not shown to you", "Of a tenant, its admins see costs and retention: whoever runs this "+
		"fleet can give you that role with furrow access.")
}

// May returns a problem unless the person has the role that is needed to act.
func (p Person) May(needed schema.Role) error {
	switch {
	case !p.Role.May(needed):
		return NewProblem(Forbidden, "Not allowed",
			"This needs the role "+string(needed)+"; furrow access gives roles.")
	case p.Form == "" && !p.Token:
		return NewProblem(Forbidden, "Sign in to act", "To act from pages, sign in with a token from furrow access add.")
	}
	return nil
}
