package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/jobs/archive"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func archiveRewrite(c *cli.Context) error {
	scope, err := archiveScopeOf(c)
	if err != nil {
		return err
	}
	if c.String("from") == "" {
		return usagef(c, "--from is required: say which days")
	}
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	days, err := archivist(f)
	if err != nil {
		return err
	}
	folders, err := scope.folders(c.Context, f.Reader(), days, tables.TicksOf(time.Now()))
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return errors.New("there is no such day: no device of that tenant, or the days are not over yet")
	}
	for _, folder := range folders {
		if empty, err := days.Empty(c.Context, folder); err != nil {
			return err
		} else if empty {
			continue // readers take the columns of all files from the first, so none is made of nothing
		}
		if !retain.KeepOfTenant(days.Source.Keep, folder.Tenant).KeepsDay(folder.Day, tables.TicksOf(time.Now())) {
			fmt.Fprintf(c.App.ErrWriter, "furrow: %s of %s stays as it is: retention no longer keeps its archive\n", folder.Day,
				folder.Tenant)
			continue
		}
		var m *archive.Manifest
		act := schema.Act{What: "archive rewrite", Tenant: folder.Tenant, Detail: folder.When()}
		err := s.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
			m, err = days.Remake(ctx, folder)
			return "rewritten", err
		})
		if err != nil {
			return err
		}
		line := archiveLineOf(folder, m)
		if err := printLine(c, line, line.text()); err != nil {
			return err
		}
	}
	return nil
}

// mostDays is how many folders one command rewrites.
const mostDays = 10_000

// folders returns the folders that the selected days have now, or should have.
func (s archiveScope) folders(ctx context.Context, f query.Fleet, days *archive.Days,
	now tables.Ticks) (all []archive.Folder, err error) {
	owners := map[archive.Folder]bool{}
	for m, err := range f.Members(ctx, query.DeviceSelector{Tenant: s.tenant}) {
		if err != nil {
			return nil, err
		}
		owners[archive.Folder{Tenant: m.Tenant, Month: m.Month}] = true
	}
	last := schema.DayOf(min(s.to, now))
	if n := int(last - s.from); n*len(owners) > mostDays {
		return nil, fmt.Errorf("%d days of %d tenants and partitions are too many; at most %d are rewritten at once",
			n, len(owners), mostDays)
	}
	for owner := range owners {
		for owner.Day = s.from; owner.Day <= last; owner.Day++ {
			for _, folder := range days.Due(owner, now) {
				if s.has(folder) {
					all = append(all, folder)
				}
			}
		}
	}
	slices.SortFunc(all, archive.Folder.Compare)
	return all, nil
}
