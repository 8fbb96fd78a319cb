package main

import (
	"cmp"
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

// rewrittenLine is a day or hour that was made again, or a table with a new log, in JSON.
type rewrittenLine struct {
	Tenant    schema.Tenant `json:"tenant"`
	Date      string        `json:"date,omitempty"`      // a day, or an hour of an open one as in 2026-11-20T13
	Partition string        `json:"partition,omitempty"` // of the fleet: the month of its devices, with the shard
	Table     string        `json:"table,omitempty"`     // whose log is new
}

func archiveRewrite(c *cli.Context) error {
	scope, err := archiveScopeOf(c)
	if err != nil {
		return err
	}
	if c.Bool("log") {
		return archiveFreshLogs(c)
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
	folders, err := scope.folders(c.Context, f.Reader().Devices(), days, tables.TicksOf(time.Now()))
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return errors.New("there is no such day: no device of that tenant, or the days are not over yet")
	}
	if err := f.Create(c.Context); err != nil { // perhaps no worker has run yet
		return err
	}
	w := newLongWork(c)
	w.begin("making days again")
	for i, folder := range folders {
		w.reached(fmt.Sprintf("%s of %s, %s", folder.When(), folder.Tenant, w.share(int64(i), int64(len(folders)),
			many(int64(len(folders)), "day"))))
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
		act := schema.Act{What: "archive rewrite", Tenant: folder.Tenant, Detail: folder.When()}
		err := s.recorded(c.Context, act, func(ctx context.Context) (string, error) {
			return "rewritten", days.Remake(ctx, folder)
		})
		if err != nil {
			return w.ended(err, "the days before it are made: continue with --from "+folder.Day.String())
		}
		line := rewrittenLine{Tenant: folder.Tenant, Date: folder.When(), Partition: folder.Month.String()}
		if err := printLine(c, line, fmt.Sprintf("%s %s, partition %s", line.Tenant, line.Date, line.Partition)); err != nil {
			return err
		}
	}
	return nil
}

// mostDays is how many folders one command rewrites.
const mostDays = 10_000

// folders returns the folders that the selected days have now, or should have, in the order of days: a command that is
// stopped is repeated from a day on, for all tenants.
func (s archiveScope) folders(ctx context.Context, f query.Devices, days *archive.Tables,
	now tables.Ticks) (all []archive.TableDay, err error) {
	owners := map[archive.TableDay]bool{}
	for m, err := range f.Members(ctx, query.DeviceSelector{Tenant: s.tenant}) {
		if err != nil {
			return nil, err
		}
		owners[archive.TableDay{Tenant: m.Tenant, Month: m.Month}] = true
	}
	for tenant, err := range tenantsIn(s.tenant, days.Tenants(ctx)) { // whose devices may all have left
		if err != nil {
			return nil, err
		}
		for d, err := range days.Readings(tenant).Days(ctx) {
			if err != nil {
				return nil, err
			}
			if s.from <= d.Date && d.Date <= s.last() {
				owners[archive.TableDay{Tenant: tenant, Month: d.Month}] = true
			}
		}
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
	slices.SortFunc(all, func(a, b archive.TableDay) int { return cmp.Or(cmp.Compare(a.Day, b.Day), a.Compare(b)) })
	return all, nil
}

func (s archiveScope) has(d archive.TableDay) bool {
	_, to := d.Times()
	return d.Day >= s.from && to <= s.to
}
