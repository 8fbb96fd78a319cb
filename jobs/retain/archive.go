package retain

import (
	"context"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// An archivedDay is what was asked of an archive.
type archivedDay struct {
	month  schema.Month
	tenant schema.Tenant
	day    schema.Day
}

// archived keeps the days that an archive does not have, or has to make again.
func (p *Retainer) archived(ctx context.Context, all []*retained, now tables.Ticks) error {
	for _, o := range p.Others {
		if !o.Archives {
			continue
		}
		if err := p.unmarked(ctx, o, all); err != nil {
			return err
		}
	}
	if p.Archived == nil {
		return nil
	}
	has := map[archivedDay]bool{}
	for _, d := range all {
		if err := p.inArchive(ctx, d, has, now); err != nil {
			return err
		}
	}
	return nil
}

// unmarked keeps the days with marks.
func (p *Retainer) unmarked(ctx context.Context, o Folding, all []*retained) error {
	for _, month := range monthsOf(all) {
		for e, err := range o.Tracking.Entities(ctx, tables.Query{Range: schema.Marks(month, schema.ArchiveMark),
			Select: []string{"PartitionKey", "RowKey"}}) {
			if err != nil {
				return err
			}
			mark, err := schema.MarkOf(e)
			if err != nil {
				continue // the group job reports it
			}
			marked, err := mark.Archive()
			if err != nil {
				continue // it asks for something else, or the group job reports it
			}
			for _, d := range all {
				if d.Member.Month == month && d.Member.Tenant == mark.Tenant {
					d.stay(marked.Day.Start(), CauseArchive, "the archive has to make the day again")
				}
			}
		}
	}
	return nil
}

func monthsOf(all []*retained) (months []schema.Month) {
	for _, d := range all {
		if !slices.Contains(months, d.Member.Month) {
			months = append(months, d.Member.Month)
		}
	}
	return months
}

// inArchive keeps a device's rows from the first day on that has readings and is not archived, unless the archive of
// the day is no longer kept either.
func (p *Retainer) inArchive(ctx context.Context, d *retained, has map[archivedDay]bool, now tables.Ticks) error {
	keep := KeepOfTenant(p.Keep, d.Member.Tenant)
	keys := tables.Keys{After: d.from, Before: d.to.String()}
	at := schema.DayOf(tables.TicksBefore(d.from))
	for known := d.from != ""; at.Start() < d.to; known = true {
		if known {
			of := archivedDay{d.Member.Month, d.Member.Tenant, at}
			is, asked := has[of]
			if !asked {
				var err error
				if is, err = p.Archived(ctx, of.month, of.tenant, of.day); err != nil {
					return err
				}
				has[of] = is
			}
			if is || !keep.KeepsDay(at, now) {
				at++
				continue
			}
			keys = tables.Keys{From: at.Start().String(), Before: d.to.String()}
		}
		row, err := firstReading(ctx, p.Client, d.Member, keys)
		if err != nil || row == "" {
			return err
		}
		next := schema.DayOf(tables.TicksBefore(row))
		if known && next == at {
			d.stay(at.Start(), CauseArchive, "the archive does not have the day and its files yet")
			return nil
		}
		at = next
	}
	return nil
}
