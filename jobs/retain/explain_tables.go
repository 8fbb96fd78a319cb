package retain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// failing has all rows of a device stay that the pipeline itself passes over after failures.
func (d *retained) failing(now tables.Ticks) {
	if !d.Row.HeldAt(now) {
		return
	}
	d.passed = Wait{Cause: CauseRetention, Reason: fmt.Sprintf("retention tries again at %s, after: %s",
		d.Row.HeldUntil.Time().UTC().Format(time.RFC3339), d.Row.Held)}
	d.stay(0, d.passed.Cause, d.passed.Reason)
}

// A bucketsOf names a device's rows of a table that sweeps delete.
type bucketsOf struct {
	device *retained
	table  string
	window schema.Window
}

// countRollups counts the rows that sweeps delete, by device.
func (p *Retainer) countRollups(ctx context.Context, all []*retained, now tables.Ticks) (map[bucketsOf]int, error) {
	counted := map[bucketsOf]int{}
	for _, s := range sweeps(all, now) {
		of := map[schema.DeviceID]*retained{}
		for _, d := range s.devices {
			of[d.Member.Device] = d
		}
		for _, table := range p.bucketTables() {
			if err := p.sweep(ctx, p.Client.Table(p.Names.Output(table)), s, func(_ string, keys []string) error {
				for _, key := range keys {
					row, err := schema.ParseRollupRow(key)
					if err != nil {
						return err
					}
					counted[bucketsOf{of[row.Device], table, s.window}]++
				}
				return nil
			}); err != nil {
				return nil, err
			}
		}
	}
	return counted, nil
}

// explainOwn says what goes of a device's rows beside its readings.
func (p *Retainer) explainOwn(ctx context.Context, d *retained, counted map[bucketsOf]int,
	now tables.Ticks) (all []RetainedTable, err error) {
	for _, own := range d.keep.Own() {
		t := RetainedTable{KeptTable: own, Cut: own.Below(now), Swept: d.swept(own)}
		switch {
		case d.passed.Cause != "" && t.Cut > t.Swept:
			t.Wait = d.passed
		case t.Cut <= t.Swept || d.Err != nil:
		case own.Table == rollupsTable:
			t.Rows = counted[bucketsOf{d, rollupsTable, own.Window}]
		case own.Table == rejectsTable:
			var ops []tables.Op
			ops, err = p.oldRejects(ctx, d, t.Cut)
			t.Rows = len(ops)
		case own.Table == commandsTable:
			var keys []string
			keys, t.Stay, err = p.oldCommands(ctx, d, t.Cut)
			if t.Rows = len(keys); t.Stay > 0 {
				t.Wait = Wait{Cause: CauseDesired, Reason: CauseDesired.Says()}
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		if own.Table == rollupsTable {
			all = append(all, p.beside(d, t, counted)...)
		}
	}
	return all, nil
}

// beside returns what goes of other tables that are kept as rollups of the same window, such as rates.
func (p *Retainer) beside(d *retained, rollups RetainedTable, counted map[bucketsOf]int) (all []RetainedTable) {
	for _, table := range slices.Sorted(slices.Values(p.bucketTables())) {
		if n := counted[bucketsOf{d, table, rollups.Window}]; table != rollupsTable && n > 0 {
			t := rollups
			t.Table, t.Rows = table, n
			all = append(all, t)
		}
	}
	return all
}

// RetainedOf says what the pipeline does with what a tenant has as a whole. It changes nothing.
func (p *Retainer) RetainedOf(ctx context.Context, t schema.Tenant, now tables.Ticks) (all []RetainedTable, err error) {
	for _, kept := range KeepOfTenant(p.Keep, t).Whole() {
		all = append(all, RetainedTable{KeptTable: kept, Cut: kept.Below(now)})
	}
	for old, err := range p.OutdatedOf(ctx, t, now) {
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(t RetainedTable) bool { return t.Table == old.Table && t.Window == old.Window })
		if i < 0 {
			continue
		}
		all[i].Rows += old.Rows
		if all[i].Stay += old.Stay; old.Stay > 0 {
			all[i].Wait = old.Wait
		}
	}
	return all, nil
}

// A RetainedTable is what retention does with another table of a device, or of its tenant as a whole.
type RetainedTable struct {
	KeptTable
	Cut   tables.Ticks // rows below it are older; 0: none are
	Swept tables.Ticks // rows of a device below it are gone
	Rows  int          // how many go with the next run
	Stay  int          // how many are older and stay
	Wait  Wait         // why
}
