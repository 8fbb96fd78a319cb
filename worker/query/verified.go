package query

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// Verification returns how far the scheduler has verified samples of the devices. It takes one request.
func (f Progress) Verification(ctx context.Context) (schema.Verification, error) {
	partition, row := schema.VerificationKey()
	e, err := f.Tables.Table(f.Names.Runs()).Get(ctx, partition, row)
	if tables.Absent(err) {
		return schema.Verification{}, nil
	}
	if err != nil {
		return schema.Verification{}, err
	}
	return schema.VerificationOf(e)
}

// Verified returns what samples have counted of the days from one to another, both inclusive, in the order of days and
// tenants. The row of a day without a tenant is the sum.
func (f Progress) Verified(ctx context.Context, from, to schema.Day) (all []schema.Verified, err error) {
	q := tables.Query{Range: schema.VerifiedIn(from, to)}
	for e, err := range f.Tables.Table(f.Names.Runs()).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		v, err := schema.VerifiedOf(e)
		if err != nil {
			return nil, err
		}
		if v.UpTo == "" { // otherwise a sample has not ended
			all = append(all, v)
		}
	}
	return all, nil
}
