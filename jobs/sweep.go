package jobs

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Outdated is some of what a tenant keeps no longer.
type Outdated struct {
	Tenant schema.Tenant // empty: of the fleet
	Table  string        // without the prefix of the fleet's names, or archive
	Rows   int           // or objects
	Delete func(context.Context) error
}

// sweepLag is how much longer than configured a tenant's rows are kept. Jobs neither write nor replace what is older
// than configured, so none that began before that works on what a sweep deletes.
const sweepLag = 24 * time.Hour

// Outdated yields what tenants keep no longer, of tenants with devices and of others.
func (p *Pipeline) Outdated(ctx context.Context, now tables.Ticks) iter.Seq2[Outdated, error] {
	s := &tenantSweep{Pipeline: p, ctx: ctx, now: now}
	return func(yield func(Outdated, error) bool) {
		for _, found := range []iter.Seq2[Outdated, error]{s.buckets(), s.reports(), s.incidents(), s.givenUp(),
			s.activity(), s.archive()} {
			for one, err := range found {
				if !yield(one, err) || err != nil {
					return
				}
			}
		}
	}
}

// sweepTenants deletes what is outdated, and returns how much that was.
func (p *Pipeline) sweepTenants(ctx context.Context, now tables.Ticks) (rows int, err error) {
	for old, err := range p.Outdated(ctx, now) {
		if err != nil {
			return rows, err
		}
		if p.Retention.GiveWay != nil {
			p.Retention.GiveWay(ctx)
		}
		if err := old.Delete(ctx); err != nil {
			return rows, err
		}
		rows += old.Rows
	}
	return rows, nil
}

// A tenantSweep looks for what is outdated.
type tenantSweep struct {
	*Pipeline
	ctx context.Context
	now tables.Ticks
}

// before returns the time below which something of a tenant goes; 0: nothing does.
func (s *tenantSweep) before(t schema.Tenant, kept func(*Keep) time.Duration) tables.Ticks {
	k := KeepOfTenant(s.Retention.Keep, t)
	if k == nil || kept(k) == 0 {
		return 0
	}
	return before(kept(k)+sweepLag, s.now)
}

// any reports whether any entry says how long something is kept.
func (s *tenantSweep) any(says func(*Keep) bool) bool {
	return slices.ContainsFunc(s.Retention.Keep, func(k Keep) bool { return k.ByTenant() && says(&k) })
}

// partitions yields the partitions of a table, from one to the next. After each, next says where to go on.
func (s *tenantSweep) partitions(name string, next func(pk string) tables.Keys) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		q := tables.Query{Size: 1, Select: []string{"PartitionKey"}}
		for {
			pk := ""
			for page, err := range s.Client.Table(s.Names.Output(name)).Rows(s.ctx, q) {
				if errors.Is(err, tables.ErrNoTable) {
					return
				}
				if err != nil {
					yield("", err)
					return
				}
				if len(page.Rows) > 0 {
					pk = page.Rows[0].PartitionKey
					break
				}
			}
			if pk == "" || !yield(pk, nil) {
				return
			}
			q.Range.Partitions = next(pk)
		}
	}
}

// following goes on with the next partition.
func following(pk string) tables.Keys { return tables.Keys{After: pk} }

// rows yields rows of a partition, in groups.
func (s *tenantSweep) rows(t schema.Tenant, name, pk string, rows tables.Keys) iter.Seq2[Outdated, error] {
	table := s.Client.Table(s.Names.Output(name))
	return func(yield func(Outdated, error) bool) {
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(pk), Rows: rows}, Select: []string{"RowKey"}}
		for page, err := range table.Rows(s.ctx, q) {
			var keys []string
			for i := range page.Rows {
				keys = append(keys, page.Rows[i].RowKey)
			}
			if err != nil || len(keys) > 0 {
				if !yield(outdated(t, name, table, pk, keys), err) || err != nil {
					return
				}
			}
		}
	}
}

// outdated is rows of one partition, in order.
func outdated(t schema.Tenant, name string, table *tables.Table, pk string, keys []string) Outdated {
	return Outdated{t, name, len(keys), func(ctx context.Context) error { return deleteRows(ctx, table, pk, keys) }}
}

// archive yields days of the archive.
func (s *tenantSweep) archive() iter.Seq2[Outdated, error] {
	kept := func(k *Keep) time.Duration { return k.Archive }
	if s.Retention.OldDays == nil || !s.any(func(k *Keep) bool { return k.Archive > 0 }) {
		return func(func(Outdated, error) bool) {}
	}
	return s.Retention.OldDays(s.ctx, func(t schema.Tenant) schema.Day { return schema.DayOf(s.before(t, kept)) })
}
