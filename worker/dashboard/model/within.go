package model

import "context"

type withinKey struct{}

// Within returns a context for the requests of somebody who may see only one tenant. To them, other tenants and their
// devices are unknown, at the same number of storage operations. An empty tenant stands for all.
func Within(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, withinKey{}, tenant)
}

type byKey struct{}

// By returns a context for the requests of a person, who has a share of what everybody uses.
func By(ctx context.Context, person string) context.Context {
	return context.WithValue(ctx, byKey{}, person)
}

// owners returns who takes a share for a request: a tenant, and a person of it.
func owners(ctx context.Context) []string {
	person, _ := ctx.Value(byKey{}).(string)
	tenant := within(ctx)
	return []string{tenant, tenant + "\x00" + person}
}

// within returns the only tenant that ctx may see; empty: all.
func within(ctx context.Context) string {
	tenant, _ := ctx.Value(withinKey{}).(string)
	return tenant
}

// noTenant is a tenant that nothing can belong to.
const noTenant = "\x00"

// scoped returns the tenant whose devices answer a question about asked, which is empty for all.
func scoped(ctx context.Context, asked string) string {
	only := within(ctx)
	switch {
	case only == "" || asked == only:
		return asked
	case asked == "":
		return only
	}
	return noTenant
}
