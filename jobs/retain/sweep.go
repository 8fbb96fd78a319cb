package retain

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
	Window schema.Window // of reports and the buckets that they are made of
	Rows   int           // or objects
	Delete func(context.Context) error

	Stay int  // rows that are as old and stay
	Wait Wait // why
}

// sweepLag is how much longer than configured a tenant's rows are kept. Jobs neither write nor replace what is older
// than configured, so none that began before that works on what a sweep deletes.
const sweepLag = 24 * time.Hour

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

// A tenantSweep looks for what is outdated.
type tenantSweep struct {
	*Retainer
	ctx  context.Context
	now  tables.Ticks
	only schema.Tenant // the others are not looked at; empty: all are
}

// before returns the time below which rows of a tenant's table go; 0: none do.
func (s *tenantSweep) before(t schema.Tenant, table string, w schema.Window) tables.Ticks {
	if s.only != "" && t != s.only {
		return 0
	}
	return keptTable(KeepOfTenant(s.Keep, t).Whole(), table, w).Below(s.now)
}

// any reports whether any entry says how long something is kept.
func (s *tenantSweep) any(says func(*Keep) bool) bool {
	return slices.ContainsFunc(s.Keep, func(k Keep) bool { return k.ByTenant() && says(&k) })
}

// partitions yields the partitions of a table, from one to the next. After each, next says where to go on.
func (s *tenantSweep) partitions(name string, next func(pk string) tables.Keys) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		q := tables.Query{Size: 1, Select: []string{"PartitionKey"}}
		byTenant := name != activityTable && name != schema.Deliveries
		if byTenant && s.only != "" {
			q.Range.Partitions = tables.KeysWithPrefix(s.only.Key() + schema.Separator)
		}
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
			last := q.Range.Partitions.Before
			if q.Range.Partitions = next(pk); byTenant && s.only != "" {
				if q.Range.Partitions.Before = last; q.Range.Partitions.From >= last {
					return
				}
			}
		}
	}
}

// following goes on with the next partition.
func following(pk string) tables.Keys { return tables.Keys{After: pk} }

// rows yields rows of a partition, in groups.
func (s *tenantSweep) rows(of Outdated, pk string, rows tables.Keys) iter.Seq2[Outdated, error] {
	table := s.Client.Table(s.Names.Output(of.Table))
	return func(yield func(Outdated, error) bool) {
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(pk), Rows: rows}, Select: []string{"RowKey"}}
		for page, err := range table.Rows(s.ctx, q) {
			var keys []string
			for i := range page.Rows {
				keys = append(keys, page.Rows[i].RowKey)
			}
			if err != nil || len(keys) > 0 {
				if !yield(of.with(table, pk, keys), err) || err != nil {
					return
				}
			}
		}
	}
}

// with returns o with rows of one partition, in order.
func (o Outdated) with(table *tables.Table, pk string, keys []string) Outdated {
	o.Rows = len(keys)
	o.Delete = func(ctx context.Context) error { return deleteRows(ctx, table, pk, keys) }
	return o
}

// archive yields days of the archive.
func (s *tenantSweep) archive() iter.Seq2[Outdated, error] {
	if s.OldDays == nil || !s.any(func(k *Keep) bool { return k.Archive > 0 }) {
		return func(func(Outdated, error) bool) {}
	}
	return s.OldDays(s.ctx, func(t schema.Tenant) schema.Day {
		return schema.DayOf(s.before(t, archiveTable, 0))
	})
}
