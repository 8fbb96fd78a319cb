package archive

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// replaceHours deletes the hourly files that the files of a day replace, once the day has its manifest. After a day it
// also deletes those of older days: a job that was killed while it made an hour may have left some after all others
// were gone.
func (d *Days) replaceHours(ctx context.Context, f Folder) error {
	if f.Hour > 0 {
		if has, err := d.Store.Has(ctx, f.day()); err != nil || !has {
			return err
		}
	}
	tenant := hoursFolder + tenantFolder(f.Tenant)
	for folder, err := range d.Store.below(ctx, tenant+"date=") {
		if err != nil {
			return err
		}
		day, err := schema.ParseDay(strings.TrimSuffix(strings.TrimPrefix(folder, tenant+"date="), "/"))
		if err != nil {
			continue // it is not ours
		}
		if day > f.Day {
			break
		}
		if day < f.Day {
			if has, err := d.Store.Has(ctx, Folder{Tenant: f.Tenant, Day: day, Month: f.Month}); err != nil {
				return err
			} else if !has {
				continue
			}
		}
		if err := d.Store.deleteHours(ctx, folder, f.Month); err != nil {
			return err
		}
	}
	return nil
}

// deleteHours deletes the hourly files of one partition in the folder of a day.
func (s *Store) deleteHours(ctx context.Context, folder string, m schema.Month) error {
	names, err := s.names(ctx, folder)
	if err != nil {
		return err
	}
	var own []string
	for _, name := range names {
		base := name[strings.LastIndex(name, "/")+1:]
		if strings.HasPrefix(base, m.String()+"-") || base == "_"+m.String()+manifestSuffix ||
			base == "_"+m.String()+rangesSuffix {
			own = append(own, name)
		}
	}
	return s.deleteAll(ctx, own)
}

// Due returns the folders that a day should have: that of the day once it is closed, or those of its closed hours
// where they are asked for.
func (d *Days) Due(f Folder, now tables.Ticks) (due []Folder) {
	if f = f.day(); d.Closed(f, now) {
		return []Folder{f}
	}
	for f.Hour = 1; d.Hourly && f.Hour <= 24 && d.Closed(f, now); f.Hour++ {
		due = append(due, f)
	}
	return due
}
