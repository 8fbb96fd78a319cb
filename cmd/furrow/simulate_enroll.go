package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"furrow/cmd/internal/lab/simulate"
	"furrow/sas"
	"furrow/tables/schema"
)

// A roll holds the enrollments of simulated tenants, with their keys.
type roll map[schema.Tenant]enrolled

type enrolled struct {
	schema.Enrollment
	key sas.Key
}

func (r roll) enrollment(m simulate.Member) schema.Enrollment { return r[m.Tenant].Enrollment }

func (r roll) credential(m simulate.Member) (schema.EnrollmentID, string) {
	e := r[m.Tenant]
	return e.ID, e.key.Of(string(m.ID)).Base64()
}

// enroll finds or creates the enrollments of the tenants.
func (d *deviceAdmin) enroll(ctx context.Context, s *simulation) (roll, error) {
	all, err := d.Enrollments.All(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := d.unseal(len(all) == 0); err != nil {
		return nil, err
	}
	r := roll{}
	for _, tenant := range s.tenants {
		e, err := d.enrollTenant(ctx, tenant, s)
		if err != nil {
			return nil, err
		}
		keys, err := d.Enrollments.Keys(e)
		if err != nil {
			return nil, fmt.Errorf("enrollment %s: %w", e.ID, err)
		}
		r[tenant] = enrolled{e, keys[0]}
	}
	return r, nil
}

// simulatedEnrollment names the enrollment of a simulated tenant, which no real device uses.
func simulatedEnrollment(tenant schema.Tenant) schema.EnrollmentID {
	name := "sim" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(string(tenant)))
	return schema.EnrollmentID(name[:min(len(name), 20)])
}

func (d *deviceAdmin) enrollTenant(
	ctx context.Context, tenant schema.Tenant, s *simulation,
) (schema.Enrollment, error) {
	id, backfill, commands := simulatedEnrollment(tenant), s.backfill, s.run.OnCommand != nil
	e, err := d.Enrollments.Get(ctx, id)
	if errors.Is(err, sas.ErrNoEnrollment) {
		e = schema.Enrollment{ID: id, Tenant: tenant, Readings: d.Names.Readings(), Life: defaultLife, Backfill: backfill,
			SendEvery: cmp.Or(s.every, defaultSendEvery), Batch: defaultBatch, Commands: commands}
		if err = d.makeTables(ctx, e); err != nil {
			return e, err
		}
		return d.Enrollments.Add(ctx, e, nil, nil)
	}
	switch {
	case err != nil:
		return e, err
	case e.Tenant != tenant:
		return e, fmt.Errorf("enrollment %s belongs to tenant %s, not to %s: choose another tenant", id, e.Tenant, tenant)
	case e.Disabled:
		return e, fmt.Errorf("enrollment %s is disabled: enable it with furrow enrollment enable %s", id, id)
	case e.Backfill < backfill, commands && !e.Commands:
		return d.Enrollments.Change(ctx, id, func(e *schema.Enrollment) error {
			e.Backfill, e.Commands = max(e.Backfill, backfill), e.Commands || commands
			return nil
		})
	}
	return e, nil
}
