package retain

import (
	"context"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A tenantSweep looks for what is outdated.
type tenantSweep struct {
	*Retainer
	ctx  context.Context
	now  tables.Ticks
	only schema.Tenant // the others are not looked at; empty: all are
}

// A swept is a table with rows of tenants as a whole.
type swept struct {
	table string                                     // without the prefix of names
	says  func(*Keep) bool                           // whether an entry says how long it is kept
	next  func(pk string) tables.Keys                // where to go on after a partition
	old   func(pk string) iter.Seq2[Outdated, error] // yields what is outdated of a partition
}

// sweep yields what is outdated of a table, and reports whether to go on.
func (s *tenantSweep) sweep(t swept, yield func(Outdated, error) bool) bool {
	if !s.any(t.says) {
		return true
	}
	for pk, err := range s.partitions(t.table, t.next) {
		if err != nil {
			yield(Outdated{}, err)
			return false
		}
		if !each(yield, t.old(pk)) {
			return false
		}
	}
	return true
}

// none yields nothing.
func none(func(Outdated, error) bool) {}

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
		q := tables.Query{Select: []string{"PartitionKey"}}
		byTenant := name != activityTable && name != schema.Deliveries
		if byTenant && s.only != "" {
			q.Range.Partitions = tables.KeysWithPrefix(s.only.Key() + schema.Separator)
		}
		for {
			e, found, err := s.Client.Table(s.Names.Output(name)).First(s.ctx, q)
			if !found && err == nil || !yield(e.PartitionKey, err) || err != nil {
				return
			}
			last := q.Range.Partitions.Before
			if q.Range.Partitions = next(e.PartitionKey); byTenant && s.only != "" {
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

// each yields all that there is, and reports whether to go on.
func each(yield func(Outdated, error) bool, all iter.Seq2[Outdated, error]) bool {
	for one, err := range all {
		if !yield(one, err) || err != nil {
			return false
		}
	}
	return true
}
