package retain

import (
	"iter"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// incidents has closed incidents with all that is beside them: transitions, notes, and records of deliveries. An
// incident with a delivery that is still to be sent stays.
func (s *tenantSweep) incidents() swept {
	var waiting map[schema.IncidentID]bool
	return swept{incidentsTable, func(k *Keep) bool { return k.Incidents > 0 }, following,
		func(pk string) iter.Seq2[Outdated, error] {
			p, err := schema.ParseLatestPartition(pk)
			to := s.before(p.Tenant, incidentsTable, 0)
			if err != nil || to == 0 {
				return none // an index, mutes, or of a tenant that keeps all
			}
			if waiting == nil {
				if waiting, err = s.waiting(); err != nil {
					return func(yield func(Outdated, error) bool) { yield(Outdated{}, err) }
				}
			}
			return s.incidentsBefore(p, to, waiting)
		}}
}

// waiting returns the incidents with deliveries that are still to be sent.
func (s *tenantSweep) waiting() (map[schema.IncidentID]bool, error) {
	all := map[schema.IncidentID]bool{}
	for e, err := range s.Client.Table(s.Names.Deliveries()).Entities(s.ctx, tables.Query{
		Select: []string{"PartitionKey", "RowKey"}}) {
		if err != nil {
			return nil, err
		}
		if e.PartitionKey == schema.GivenUp(schema.DeliveryTarget(e.PartitionKey)) {
			continue
		}
		_, row, _ := strings.Cut(e.RowKey, schema.Separator)
		if id, _, err := schema.IncidentRowKind(row); err == nil {
			all[id] = true
		}
	}
	return all, nil
}

// incidentsBefore yields the incidents of a partition that closed before a time. It reads those that opened before it.
func (s *tenantSweep) incidentsBefore(p schema.LatestPartition, to tables.Ticks,
	waiting map[schema.IncidentID]bool) iter.Seq2[Outdated, error] {
	table := s.Client.Table(s.Names.Output(incidentsTable))
	return func(yield func(Outdated, error) bool) {
		var at schema.IncidentID
		var last schema.Transition
		var rows, going []string
		stay := 0
		found := func() Outdated {
			old := Outdated{Tenant: p.Tenant, Table: incidentsTable}.with(table, p.String(), going)
			if old.Stay = stay; stay > 0 {
				old.Wait = Wait{Cause: CauseOpen, Reason: CauseOpen.Says()}
			}
			stay = 0
			return old
		}
		next := func() bool { // ends an incident
			closed := last.Number == 0 || !last.Opens()
			switch {
			case closed && (last.Number == 0 || max(last.At, last.Found) < to) && !waiting[at]:
				going = append(going, rows...)
			case !closed || waiting[at]:
				stay += len(rows)
			}
			more := len(going) < 1000 || yield(found(), nil)
			if rows, last = nil, (schema.Transition{}); len(going) >= 1000 {
				going = nil
			}
			return more
		}
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(p.String()), Rows: schema.IncidentRows(0, to)}}
		for e, err := range table.Entities(s.ctx, q) {
			if err != nil {
				yield(Outdated{}, err)
				return
			}
			id, kind, err := schema.IncidentRowKind(e.RowKey)
			if err != nil {
				continue // deliver jobs report it
			}
			if id != at {
				if !next() {
					return
				}
				at = id
			}
			rows = append(rows, e.RowKey)
			if kind != 't' {
				continue
			}
			if t, err := schema.TransitionOf(e); err != nil {
				last.Number = 1 // as if it were open
			} else if t.Number > last.Number {
				last = t
			}
		}
		if next() && len(going)+stay > 0 {
			yield(found(), nil)
		}
	}
}

// givenUp has deliveries that were given up, as long after their transition as incidents after they closed.
func (s *tenantSweep) givenUp() swept {
	return swept{schema.Deliveries, func(k *Keep) bool { return k.Incidents > 0 }, following,
		func(pk string) iter.Seq2[Outdated, error] {
			if pk != schema.GivenUp(schema.DeliveryTarget(pk)) {
				return none
			}
			return s.givenUpOf(pk)
		}}
}

func (s *tenantSweep) givenUpOf(pk string) iter.Seq2[Outdated, error] {
	table := s.Client.Table(s.Names.Deliveries())
	return func(yield func(Outdated, error) bool) {
		for e, err := range table.Entities(s.ctx, tables.Query{Range: tables.Partition(pk)}) {
			if err != nil {
				yield(Outdated{}, err)
				return
			}
			d, err := schema.DeliveryOf(e)
			if err != nil || d.Found >= s.before(d.Home.Tenant, schema.Deliveries, 0) {
				continue
			}
			if !yield(Outdated{Tenant: d.Home.Tenant, Table: schema.Deliveries}.with(table, pk, []string{e.RowKey}), nil) {
				return
			}
		}
	}
}
