package retain

import (
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// buckets has the devices' buckets that reports are made of. Of a tenant and window it goes from one day to the next
// until one that is kept.
func (s *tenantSweep) buckets() swept {
	to := func(p schema.RollupPartition) tables.Ticks { return s.before(p.Tenant, schema.BucketsTable, p.Window) }
	next := func(pk string) tables.Keys {
		p, err := schema.ParseRollupPartition(pk)
		if err != nil || p.Day.Start() < to(p) {
			return following(pk)
		}
		return tables.Keys{From: p.TenantDays(schema.DayOf(tables.MaxTicks)).Before}
	}
	return swept{schema.BucketsTable, func(k *Keep) bool { return len(k.Buckets) > 0 }, next,
		func(pk string) iter.Seq2[Outdated, error] {
			p, err := schema.ParseRollupPartition(pk)
			if err != nil || p.Day.Start() >= to(p) {
				return none
			}
			of := Outdated{Tenant: p.Tenant, Table: schema.BucketsTable, Window: p.Window}
			return s.rows(of, pk, tables.Keys{})
		}}
}

// reports has reports: all those of a period that is over for so long, and of a longer period bucket after bucket.
func (s *tenantSweep) reports() swept {
	to := func(p schema.ReportPartition) tables.Ticks { return s.before(p.Tenant, reportsTable, p.Window) }
	next := func(pk string) tables.Keys {
		p, err := schema.ParseReportPartition(pk)
		if err != nil || p.Window.PeriodOf(to(p)) >= p.Period {
			return following(pk)
		}
		return tables.Keys{From: schema.ReportsOfWindow(p.Tenant, p.Window).Before}
	}
	return swept{reportsTable, func(k *Keep) bool { return len(k.Reports) > 0 }, next,
		func(pk string) iter.Seq2[Outdated, error] {
			p, err := schema.ParseReportPartition(pk)
			switch {
			case err != nil || p.Window.PeriodOf(to(p)) < p.Period:
				return none
			case p.End() <= to(p):
				return s.rows(Outdated{Tenant: p.Tenant, Table: reportsTable, Window: p.Window}, pk, tables.Keys{})
			}
			return s.reportsBefore(p, to(p))
		}}
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
