package retain

import (
	"context"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A sweep deletes buckets of one window of devices that are neighbors in the fleet.
type sweep struct {
	window   schema.Window
	from, to tables.Ticks
	devices  []*retained
}

// againDays is how many days a sweep passes again: a job that stalled may have written there after the last one.
const againDays = 2

// allDays is how often a sweep passes all days again. A job that went by a clock that was far behind may have written
// buckets of any day; and where others keep theirs for years, each pass looks at each of their days.
const allDays = 28 * tables.Day

// retainOutputs deletes buckets that are no longer kept, of all devices of a batch together.
func (p *Retainer) retainOutputs(ctx context.Context, all []*retained, now tables.Ticks) error {
	for _, s := range sweeps(all, now) {
		for _, table := range p.bucketTables() {
			of := p.Client.Table(p.Names.Output(table))
			if err := p.sweep(ctx, of, s, func(pk string, keys []string) error {
				s.devices[0].count(table, len(keys))
				return deleteRows(ctx, of, pk, keys)
			}); err != nil {
				return err
			}
		}
		for _, d := range s.devices {
			d.noteSwept(KeptTable{Table: rollupsTable, Window: s.window}, s.to)
		}
	}
	return nil
}

// bucketTables returns the tables whose rows are a device's buckets.
func (p *Retainer) bucketTables() (names []string) {
	for _, o := range p.Others {
		for _, processor := range o.ModelOf(schema.Member{}).Processors {
			if _, is := processor.Windowed(); !is {
				continue
			}
			for _, table := range processor.Tables {
				if table != schema.BucketsTable && !slices.Contains(names, table) {
					names = append(names, table)
				}
			}
		}
	}
	return names
}

// sweeps returns what is to be deleted. Devices that were swept equally far share a sweep.
func sweeps(all []*retained, now tables.Ticks) (found []*sweep) {
	for _, d := range all {
		if d.keep == nil || d.lost() || d.passed.Cause != "" {
			continue
		}
		for _, kept := range d.keep.Own() {
			if kept.Table != rollupsTable {
				continue
			}
			s := sweep{window: kept.Window, from: d.swept(kept), to: kept.Below(now)}
			if s.to <= s.from {
				continue
			}
			i := slices.IndexFunc(found, func(o *sweep) bool {
				first := o.devices[0].Member
				return o.window == s.window && o.from == s.from && o.to == s.to && first.Tenant == d.Member.Tenant &&
					first.Month == d.Member.Month
			})
			if i < 0 {
				i, found = len(found), append(found, &s)
			}
			found[i].devices = append(found[i].devices, d)
		}
	}
	return found
}

// sweep goes from one day that has buckets to the next, and has do done with the keys of those that go.
func (p *Retainer) sweep(ctx context.Context, table *tables.Table, s *sweep,
	do func(pk string, keys []string) error) error {
	first, last := s.devices[0].Member, s.devices[len(s.devices)-1].Member
	part := schema.RollupPartition{Tenant: first.Tenant, Window: s.window, Month: first.Month}
	at := schema.Day(0)
	if s.from >= s.to.Floor(allDays) {
		at = max(0, schema.DayOf(s.from)-againDays)
	}
	for ; at.Start() < s.to; at++ {
		part.Day = at
		next, err := p.dayFrom(ctx, table, part, s.to)
		if err != nil || next < 0 {
			return err
		}
		at, part.Day = next, next
		q := tables.Query{Range: tables.Range{Partitions: tables.Is(part.String()),
			Rows: schema.Buckets(first.Device, last.Device)}, Select: []string{"RowKey"}}
		for page, err := range table.Rows(ctx, q) {
			if err != nil {
				return err
			}
			if err := do(part.String(), s.going(page.Rows)); err != nil {
				return err
			}
		}
	}
	return nil
}

// going returns the keys of rows that belong to the sweep's devices.
func (s *sweep) going(rows []tables.Entity) (keys []string) {
	for i := range rows {
		row, err := schema.ParseRollupRow(rows[i].RowKey)
		if err == nil && slices.ContainsFunc(s.devices, func(d *retained) bool { return d.Member.Device == row.Device }) {
			keys = append(keys, rows[i].RowKey)
		}
	}
	return keys
}

// dayFrom returns the first day from a partition's on for which the tenant has buckets of the window, or -1.
func (p *Retainer) dayFrom(ctx context.Context, table *tables.Table, part schema.RollupPartition,
	to tables.Ticks) (schema.Day, error) {
	days := part.TenantDays(schema.DayOf(to) - 1)
	q := tables.Query{Select: []string{"PartitionKey"}, Range: tables.Range{Partitions: days}}
	e, found, err := table.First(ctx, q)
	if err != nil || !found {
		return -1, err
	}
	first, err := schema.ParseRollupPartition(e.PartitionKey)
	return first.Day, err
}
