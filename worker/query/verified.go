package query

import (
	"context"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// Verification returns how far the scheduler has verified samples of the devices. It takes one request.
func (f Progress) Verification(ctx context.Context) (schema.Verification, error) {
	partition, row := schema.VerificationKey()
	v, _, err := get(ctx, f.Tables.Table(f.Names.Runs()), partition, row, schema.VerificationOf)
	return v, err
}

// Verified returns what samples have counted of the days from one to another, both inclusive, in the order of days and
// tenants. The row of a day without a tenant is the sum.
func (f Progress) Verified(ctx context.Context, from, to schema.Day) ([]schema.Verified, error) {
	days := tables.Query{Range: schema.VerifiedIn(from, to)}
	all, err := Collect(recordsOf(ctx, f.Tables.Table(f.Names.Runs()), days, schema.VerifiedOf), nil)
	return slices.DeleteFunc(all, func(v schema.Verified) bool { return v.UpTo != "" }), err // a sample has not ended
}
