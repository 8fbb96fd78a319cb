package retain

import (
	"context"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// Outdated yields what tenants keep no longer, of tenants with devices and of others.
func (p *Retainer) Outdated(ctx context.Context, now tables.Ticks) iter.Seq2[Outdated, error] {
	return (&tenantSweep{Retainer: p, ctx: ctx, now: now}).outdated()
}

// OutdatedOf yields what one tenant keeps no longer. It passes over what others have.
func (p *Retainer) OutdatedOf(ctx context.Context, t schema.Tenant, now tables.Ticks) iter.Seq2[Outdated, error] {
	return (&tenantSweep{Retainer: p, ctx: ctx, now: now, only: t}).outdated()
}

func (s *tenantSweep) outdated() iter.Seq2[Outdated, error] {
	return func(yield func(Outdated, error) bool) {
		for _, t := range []swept{s.buckets(), s.reports(), s.incidents(), s.givenUp(), s.activity()} {
			if !s.sweep(t, yield) {
				return
			}
		}
		each(yield, s.archive())
	}
}

// SweepTenants deletes what is outdated, and returns how many rows that were, by table.
func (p *Retainer) SweepTenants(ctx context.Context, now tables.Ticks) (map[string]int, error) {
	deleted := map[string]int{}
	for old, err := range p.Outdated(ctx, now) {
		if err != nil {
			return deleted, err
		}
		if old.Rows == 0 {
			continue
		}
		if p.GiveWay != nil {
			p.GiveWay(ctx)
		}
		if err := old.Delete(ctx); err != nil {
			return deleted, err
		}
		deleted[old.Table] += old.Rows
	}
	return deleted, nil
}

// activity has acts, month after month.
func (s *tenantSweep) activity() swept {
	return swept{activityTable, func(k *Keep) bool { return k.Activity > 0 }, following,
		func(pk string) iter.Seq2[Outdated, error] {
			month, tenant, err := schema.ParseActPartition(pk)
			to := s.before(tenant, activityTable, 0)
			if err != nil || month >= to {
				return none
			}
			return s.rows(Outdated{Tenant: tenant, Table: activityTable}, pk, schema.ActRows(0, to))
		}}
}

// archive yields days of the archive.
func (s *tenantSweep) archive() iter.Seq2[Outdated, error] {
	if s.OldDays == nil || !s.any(func(k *Keep) bool { return k.Archive > 0 }) {
		return none
	}
	return s.OldDays(s.ctx, func(t schema.Tenant) schema.Day {
		return schema.DayOf(s.before(t, archiveTable, 0))
	})
}
