package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// An ArchiveQuery asks what the archive has of a tenant.
type ArchiveQuery struct {
	Tenant string     `query:"tenant"` // empty: only what waits
	From   *time.Time `query:"from"`   // nil: a month before To
	To     *time.Time `query:"to"`     // nil: after the newest day
}

const (
	// archiveAge is how long an answer is used.
	archiveAge = 30 * time.Second
	// archiveDays is how many days there are without From.
	archiveDays = 31
	// maxArchiveDays limits the days of an answer.
	maxArchiveDays = 100
	// maxVersions limits the versions of an answer.
	maxVersions = 30
)

// Archives are what archives have of tenants.
type Archives struct {
	accounts  *Accounts
	pipelines *Pipelines
	kept      cache[Archive]
}

// OfTenant returns what the archive has of a tenant, as far as ctx may see it.
func (ar *Archives) OfTenant(ctx context.Context, q ArchiveQuery) (Archive, error) {
	if err := ar.accounts.current(ctx); err != nil {
		return Archive{}, err
	}
	unknown := fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	if q.Tenant = scoped(ctx, q.Tenant); q.Tenant == noTenant {
		return Archive{}, unknown
	}
	out := Archive{Tables: []ArchiveTable{}, Days: []ArchiveDay{}, Versions: []answers.ArchiveVersion{}}
	if q.Tenant != "" {
		first, last := q.days(schema.DayOf(tables.MaxTicks))
		key := fmt.Sprint(q.Tenant, schema.Separator, first, last, q.From == nil)
		var err error
		out, err = ar.kept.get(ctx, key, archiveAge, func(ctx context.Context) (Archive, error) { return ar.read(ctx, q) })
		if err != nil {
			return out, err
		}
		if len(out.Tables) == 0 && !ar.accounts.index.hasTenant(q.Tenant) {
			return Archive{}, unknown
		}
	}
	out.Tenant, out.Archives, out.Waiting = q.Tenant, ar.accounts.Configured().HasArchive(), []ArchiveWaiting{}
	if within(ctx) != "" {
		out.Tables, out.Versions = slices.Clone(out.Tables), slices.Clone(out.Versions)
		for i := range out.Tables {
			out.Tables[i].Storage = ""
		}
		for i := range out.Versions {
			out.Versions[i].Storage = ""
		}
		return out, nil
	}
	all, err := everywhere(ctx, ar.accounts, ar.waiting)
	out.Waiting = append(out.Waiting, slices.Concat(all...)...)
	return out, err
}

// waiting returns what the pipelines of an account with an archive are to make.
func (ar *Archives) waiting(ctx context.Context, a *account) (all []ArchiveWaiting, err error) {
	for _, p := range a.configured() {
		if !p.Archive {
			continue
		}
		state, err := ar.pipelines.pipelineOf(ctx, a, p)
		if err != nil {
			return nil, err
		}
		fleet := state.Fleet()
		all = append(all, ArchiveWaiting{Pipeline: string(p.Name), Storage: ar.accounts.nameOf(a), Days: fleet.Waiting,
			Seconds: fleet.WaitingLag.Seconds()})
	}
	return all, nil
}

// read reads what all accounts have of a tenant.
func (ar *Archives) read(ctx context.Context, q ArchiveQuery) (Archive, error) {
	out := Archive{Tables: []ArchiveTable{}, Days: []ArchiveDay{}, Versions: []answers.ArchiveVersion{}}
	found, err := everywhere(ctx, ar.accounts, func(ctx context.Context, a *account) (archived, error) {
		return ar.archiveTables(ctx, a, schema.Tenant(q.Tenant))
	})
	if err != nil {
		return out, err
	}
	last := schema.Day(0)
	for _, f := range found {
		for _, t := range f.tables {
			out.Tables, last = append(out.Tables, t), max(last, t.last)
		}
		out.Versions = append(out.Versions, f.versions...)
	}
	if len(out.Tables) == 0 {
		return out, nil
	}
	slices.SortStableFunc(out.Tables, func(a, b ArchiveTable) int { return cmp.Compare(a.Table, b.Table) })
	slices.SortStableFunc(out.Versions, func(a, b answers.ArchiveVersion) int { return b.At.Compare(a.At) })
	out.Versions = out.Versions[:min(len(out.Versions), maxVersions)]
	first, last := q.days(last)
	out.From, out.To = first.Start().Time(), endOf(last).Time()
	held, err := everywhere(ctx, ar.accounts, func(ctx context.Context, a *account) ([]archive.HeldDay, error) {
		if len(found[a.number].tables) == 0 || first > last {
			return nil, nil
		}
		return a.archive().Held(ctx, schema.Tenant(q.Tenant), first, last)
	})
	out.Days = joinedDays(held)
	return out, err
}

// days returns the first and the last day of an answer about tables whose newest day is known; the first is after the
// last if there is none.
func (q ArchiveQuery) days(newest schema.Day) (first, last schema.Day) {
	last = newest
	if q.To != nil {
		last = min(last, schema.DayOf(tables.TicksOf(*q.To)-1))
	}
	if q.From == nil {
		return last - archiveDays + 1, last
	}
	return max(min(last+1, schema.DayOf(tables.TicksOf(*q.From))), last-maxArchiveDays+1), last
}

// archive returns the tables of an account, to read what they have.
func (a *account) archive() archive.Contents {
	return archive.Contents{Catalog: catalog.New(a.Tables.Table(a.Names.Catalog()))}
}

// archived is what an account has of a tenant.
type archived struct {
	tables   []ArchiveTable
	versions []answers.ArchiveVersion
}

func (ar *Archives) archiveTables(ctx context.Context, a *account, t schema.Tenant) (found archived, err error) {
	all, err := a.archive().Catalog.Tables(ctx, t)
	if err != nil {
		return found, err
	}
	parts := make([]archived, len(all))
	err = each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		parts[i], err = ar.archiveTable(ctx, a, all[i])
		return err
	})
	for _, one := range parts {
		found.tables, found.versions = append(found.tables, one.tables...), append(found.versions, one.versions...)
	}
	return found, err
}

// archiveTable reads the state of a table and its newest versions; nothing of a table that was removed.
func (ar *Archives) archiveTable(ctx context.Context, a *account, t *catalog.Table) (found archived, err error) {
	state, err := t.State(ctx)
	if errors.Is(err, catalog.ErrAbsent) || state.Removed {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	path := a.Names.Archive() + "/" + strings.TrimSuffix(t.Folder(), "/")
	one := ArchiveTable{Table: t.Name, Storage: ar.accounts.nameOf(a), Path: path,
		Days: state.Days, Rows: state.Rows, Files: state.Files, Bytes: state.Bytes, Version: state.Version,
		Foreign: state.Foreign, last: state.Last}
	if state.Days > 0 {
		one.First, one.Last = state.First.String(), state.Last.String()
	}
	if state.Published >= 0 {
		one.Published = &state.Published
	}
	if !state.Waiting.IsZero() {
		one.Waiting = &state.Waiting
	}
	found.tables = append(found.tables, one)
	for v, err := range t.Versions(ctx, state.Version-maxVersions+1) {
		if err != nil {
			return found, err
		}
		version := answers.ArchiveVersionOf(t.Name, v)
		version.Storage = one.Storage
		found.versions = append(found.versions, version)
	}
	slices.Reverse(found.versions)
	return found, nil
}

// joinedDays adds up what accounts have of days. The newest comes first.
func joinedDays(held [][]archive.HeldDay) []ArchiveDay {
	days := []ArchiveDay{}
	all := slices.Concat(held...)
	slices.SortStableFunc(all, func(a, b archive.HeldDay) int { return cmp.Compare(b.Day, a.Day) })
	for _, d := range all {
		date := d.Day.String()
		if n := len(days); n == 0 || days[n-1].Date != date {
			days = append(days, ArchiveDay{Date: date})
		}
		one := &days[len(days)-1]
		one.Files, one.Bytes = one.Files+d.Files, one.Bytes+d.Bytes
		one.Readings, one.Rollups, one.Reports = one.Readings+d.Readings, one.Rollups+d.Rollups, one.Reports+d.Reports
		one.Open = one.Open || d.Watermark == 0
		if at := d.Watermark.Time(); one.Watermark == nil || at.Before(*one.Watermark) {
			one.Watermark = &at
		}
		if one.Open {
			one.Watermark = nil
		}
	}
	return days
}
