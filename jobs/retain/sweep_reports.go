package retain

import (
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// buckets yields the devices' buckets that reports are made of. Of a tenant and window it goes from one day to the next
// until one that is kept.
func (s *tenantSweep) buckets() iter.Seq2[Outdated, error] {
	return func(yield func(Outdated, error) bool) {
		if !s.any(func(k *Keep) bool { return len(k.Buckets) > 0 }) {
			return
		}
		to := func(p schema.RollupPartition) tables.Ticks {
			return s.before(p.Tenant, schema.BucketsTable, p.Window)
		}
		for pk, err := range s.partitions(schema.BucketsTable, func(pk string) tables.Keys {
			p, err := schema.ParseRollupPartition(pk)
			if err != nil || p.Day.Start() < to(p) {
				return following(pk)
			}
			p.Day = schema.DayOf(tables.MaxTicks)
			return tables.Keys{From: p.TenantDays(p.Day).Before}
		}) {
			p, errKey := schema.ParseRollupPartition(pk)
			if err == nil && (errKey != nil || p.Day.Start() >= to(p)) {
				continue
			}
			of := Outdated{Tenant: p.Tenant, Table: schema.BucketsTable, Window: p.Window}
			if !each(yield, err, s.rows(of, pk, tables.Keys{})) {
				return
			}
		}
	}
}

// reports yields reports: all those of a period that is over for so long, and of a longer period bucket after bucket.
func (s *tenantSweep) reports() iter.Seq2[Outdated, error] {
	return func(yield func(Outdated, error) bool) {
		if !s.any(func(k *Keep) bool { return len(k.Reports) > 0 }) {
			return
		}
		to := func(p schema.ReportPartition) tables.Ticks {
			return s.before(p.Tenant, reportsTable, p.Window)
		}
		for pk, err := range s.partitions(reportsTable, func(pk string) tables.Keys {
			p, err := schema.ParseReportPartition(pk)
			if err != nil || p.Window.PeriodOf(to(p)) >= p.Period {
				return following(pk)
			}
			return tables.Keys{From: schema.ReportsOfWindow(p.Tenant, p.Window).Before}
		}) {
			p, errKey := schema.ParseReportPartition(pk)
			if err == nil && (errKey != nil || p.Window.PeriodOf(to(p)) < p.Period) {
				continue
			}
			old := s.reportsBefore(p, to(p))
			if p.End() <= to(p) {
				old = s.rows(Outdated{Tenant: p.Tenant, Table: reportsTable, Window: p.Window}, pk, tables.Keys{})
			}
			if !each(yield, err, old) {
				return
			}
		}
	}
}

// reportsBefore yields the reports of a partition for buckets before a time, as their heads name them.
func (s *tenantSweep) reportsBefore(p schema.ReportPartition, to tables.Ticks) iter.Seq2[Outdated, error] {
	table := s.Client.Table(s.Names.Reports())
	return func(yield func(Outdated, error) bool) {
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(p.String()), Rows: schema.ReportHeads(to)}}
		for e, err := range table.Entities(s.ctx, q) {
			var h schema.ReportHead
			if err == nil {
				h, err = schema.ReportHeadOf(e)
			}
			keys := h.Keys()
			keys = append(keys, e.RowKey) // last: without it nobody would find the others
			of := Outdated{Tenant: p.Tenant, Table: reportsTable, Window: p.Window}
			if !yield(of.with(table, p.String(), keys), err) || err != nil {
				return
			}
		}
	}
}
