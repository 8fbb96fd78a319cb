package groups

import (
	"context"

	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Counted returns how many rows of a tenant's devices in one partition of the fleet were folded or rejected, by their
// days, as far as ledgers tell: the days of a device that are sealed have no counts.
func (s *Source) Counted(ctx context.Context, m schema.Month, t schema.Tenant) (map[schema.Day]int64, error) {
	counted := map[schema.Day]int64{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(m.String()), Rows: schema.MembersOf(t)},
		Select: []string{schema.TrackLedger, schema.TrackLedgerFrom}}
	for e, err := range s.Tracking().Entities(ctx, q) {
		if err != nil {
			return counted, err
		}
		f := e.Fields()
		ledger, err := tracking.ParseLedger(f.Binary(schema.TrackLedger))
		if err != nil {
			return counted, err
		}
		from := schema.DayOf(tables.Ticks(f.Int(schema.TrackLedgerFrom)) + tables.Day - 1)
		for day, n := range ledger.Days() {
			if day >= from {
				counted[day] += n
			}
		}
	}
	return counted, nil
}

// Months returns the partitions of the fleet that the pipeline has worked on. Each takes a request.
func (s *Source) Months(ctx context.Context) (all []schema.Month, err error) {
	q := tables.Query{Select: []string{"PartitionKey"}}
	for {
		e, found, err := s.Tracking().First(ctx, q)
		if err != nil || !found {
			return all, err
		}
		if month, err := schema.ParseMonth(e.PartitionKey); err == nil {
			all = append(all, month)
		}
		q.Range = tables.PartitionsAfter(e.PartitionKey)
	}
}

// Has reports whether a tenant has devices in a partition of the fleet, or data of some that have left it.
func (s *Source) Has(ctx context.Context, m schema.Month, t schema.Tenant) (bool, error) {
	of := tables.Range{Partitions: tables.Is(m.String()), Rows: schema.MembersOf(t)}
	fleet := tables.Query{Range: of, Select: []string{"RowKey"}}
	if _, found, err := s.Client.Table(s.Names.Fleet()).First(ctx, fleet); found || err != nil {
		return found, err
	}
	q := tables.Query{Range: of, Select: []string{"RowKey", schema.TrackCheckpoint}}
	for e, err := range s.Tracking().Entities(ctx, q) {
		if err != nil || e.Get(schema.TrackCheckpoint).Text() != "" { // erased devices have none
			return err == nil, err
		}
	}
	return false, nil
}
