package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/jobs"
	"furrow/jobs/archive"
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
	scope.to = min(scope.to, schema.DayOf(tables.TicksOf(time.Now().Add(-days.CloseAfter))))
	folders, err := scope.folders(c.Context, f.Reader())
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return errors.New("there is no such day: no device of that tenant, or the days are not over yet")
	}
	for _, folder := range folders {
		if !jobs.KeepOfTenant(days.Pipeline.Keep, folder.Tenant).KeepsDay(folder.Day, tables.TicksOf(time.Now())) {
			fmt.Fprintf(c.App.ErrWriter, "furrow: %s of %s stays as it is: retention no longer keeps its archive\n", folder.Day,
				folder.Tenant)
			continue
		}
		var m *archive.Manifest
		act := schema.Act{What: "archive rewrite", Tenant: folder.Tenant, Detail: folder.Day.String()}
		err := s.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
			m, err = days.MakeDay(ctx, folder, archive.Asked{Since: tables.MaxTicks})
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

// folders returns the folders that the selected days have, or should have.
func (s archiveScope) folders(ctx context.Context, f query.Fleet) (all []archive.Folder, err error) {
	owners := map[archive.Folder]bool{}
	for m, err := range f.Members(ctx, query.DeviceSelector{Tenant: s.tenant}) {
		if err != nil {
			return nil, err
		}
		owners[archive.Folder{Tenant: m.Tenant, Month: m.Month}] = true
	}
	if days := int(s.to-s.from) * len(owners); days > mostDays {
		return nil, fmt.Errorf("%d days of %d tenants and partitions are too many; at most %d are rewritten at once",
			int(s.to-s.from), len(owners), mostDays)
	}
	for owner := range owners {
		for day := s.from; day < s.to; day++ {
			owner.Day = day
			all = append(all, owner)
		}
	}
	slices.SortFunc(all, archive.Folder.Compare)
	return all, nil
}
