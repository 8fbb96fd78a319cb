package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// When small files of a day become one.
const (
	// From the smallest up, files become one as long as the largest has at most twice as many bytes as all others
	// together, if there are so many. So a row is written again only when its file grows by half or more, and a day
	// keeps few files.
	mergedFiles = 4
	// A file has rows of at most so many partitions of the fleet: each takes an operation of the transactions that
	// replace it.
	mostMonths = 24
	// So many files become one at a time.
	mostMerged = 24
	// Files share partitions with each other, one with the next, as long as there are not more of them, and of at most
	// mostMonths: so one version replaces all files of a partition, and where rollups or reports are asked for later, all
	// of these.
	mostGrouped = 30
	// So long a day waits once it has small files: partitions of the fleet end it in the same minutes.
	mergeAfter = 2 * tables.Hour
	// Where there are rollups or reports, late rows of one partition have those made again of the rows of all that share
	// files with it: most late rows come before partitions do.
	mergeSummedAfter = tables.Day
)

// A mergeUnit is what goes together when files of a day become one.
type mergeUnit struct {
	files      []catalog.File
	group      *mergeGroup
	bytes      int64
	unfinished bool // a merge was killed between two tables: they have files of different partitions
}

// A mergeGroup is files that share partitions of the fleet, each with some of the others.
type mergeGroup struct {
	months []schema.Month
	files  int // of readings
}

// grouped returns the groups of files, by the partitions that they have. The first of the files are of readings.
func grouped(files []catalog.File, readings int) map[schema.Month]*mergeGroup {
	of := map[schema.Month]*mergeGroup{}
	for i, f := range files {
		g := &mergeGroup{}
		if i < readings {
			g.files = 1
		}
		for _, m := range f.Months {
			o := of[m]
			if o == g {
				continue
			}
			if o == nil {
				o = &mergeGroup{months: []schema.Month{m}}
			}
			g.months, g.files = append(g.months, o.months...), g.files+o.files
			for _, m := range o.months {
				of[m] = g
			}
		}
	}
	return of
}

// units returns each of files by itself.
func units(files []catalog.File) (all []mergeUnit) {
	for _, f := range files {
		all = append(all, mergeUnit{files: []catalog.File{f}, group: &mergeGroup{f.Months, 1}, bytes: f.Bytes})
	}
	return all
}

// small is how large a file is at most that becomes one with others.
func (g *readingsMaking) small() int64 { return int64(cmp.Or(g.FileBytes, tableFileBytes)) / 2 }

// fewer divides units into those that become one, if they are enough, and the others.
func fewer(all []mergeUnit, small int64) (one, others []mergeUnit) {
	if i := slices.IndexFunc(all, func(u mergeUnit) bool { return u.unfinished }); i >= 0 {
		return all[i : i+1], slices.Delete(slices.Clone(all), i, i+1)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b mergeUnit) int { return cmp.Compare(a.bytes, b.bytes) })
	n, bytes := 0, int64(0)
	for _, u := range all {
		if u.bytes >= small || !fit(append(slices.Clip(one), u)) {
			others = append(others, u)
			continue
		}
		if one = append(one, u); len(one) >= mergedFiles && u.bytes <= 2*bytes {
			n = len(one)
		}
		bytes += u.bytes
	}
	return one[:n], append(slices.Clip(one[n:]), others...)
}

// fit reports whether units may become one: with all that shares partitions with them.
func fit(all []mergeUnit) bool {
	files, months, groups := 0, map[schema.Month]bool{}, map[*mergeGroup]bool{}
	grouped := 0
	for _, u := range all {
		files += len(u.files)
		if groups[u.group] {
			continue
		}
		groups[u.group] = true
		grouped += u.group.files
		for _, m := range u.group.months {
			months[m] = true
		}
	}
	return files <= mostMerged && (grouped <= mostGrouped || len(groups) == 1) && len(months) <= mostMonths
}

func filesOf(all []mergeUnit) (files []catalog.File) {
	for _, u := range all {
		files = append(files, u.files...)
	}
	return files
}

// mergeable returns the units of files of readings. A partition of the fleet whose day is still open has none.
//
// Where there are rollups and reports, files of a partition go together, with all that has rows of it: those are made
// again of all its readings.
func (g *readingsMaking) mergeable(files []catalog.File) (all []mergeUnit) {
	every := g.dayFiles(files)
	of := grouped(every, len(files))
	open := func(m schema.Month) bool { return m != g.of.Month && g.snapshot.Day(m).Watermark == 0 }
	at := map[*mergeGroup]int{}
	for _, u := range units(files) {
		months := u.group.months
		if u.group = of[months[0]]; len(g.sums.all) > 0 {
			months = u.group.months
		}
		if slices.ContainsFunc(months, open) {
			continue
		}
		if i, is := at[u.group]; is && len(g.sums.all) > 0 {
			all[i].files, all[i].bytes = append(all[i].files, u.files...), all[i].bytes+u.bytes
			continue
		}
		at[u.group] = len(all)
		all = append(all, u)
	}
	for i := range all { // a merge was killed before the readings
		if one, _ := fewer(units(all[i].files), g.small()); len(g.sums.all) > 0 {
			all[i].unfinished = len(one) > 0
		}
	}
	for _, f := range every[len(files):] {
		group := of[f.Months[0]]
		if i, is := at[group]; is && len(f.Months) < len(group.months) {
			all[i].unfinished = true
		}
	}
	return all
}

// unfinished reports whether a merge was killed between two tables: rollups or reports have files of less partitions
// than others, until the next merge.
func (g *readingsMaking) unfinished() bool {
	for _, a := range g.sums.all {
		for _, f := range sharing(a.snapshot.Files, g.months) {
			if len(f.Months) < len(g.months) {
				return true
			}
		}
	}
	return false
}

// Merge makes one of the small files that a tenant's tables have of a day, from what is in them, and publishes it. It
// reports whether there were enough of them.
func (m *Tables) Merge(ctx context.Context, tenant schema.Tenant, day schema.Day) (merged bool, err error) {
	of := TableDay{Tenant: tenant, Day: day}
	err = again(ctx, func() error {
		g, err := m.begin(ctx, of)
		if err != nil {
			return err
		}
		one, _ := fewer(g.mergeable(g.snapshot.Files), g.small())
		if merged = len(one) > 0; !merged {
			return nil
		}
		g.mergeOf(filesOf(one))
		for _, u := range one { // rollups may have partitions whose readings were erased
			if len(g.sums.all) > 0 {
				g.addMonths(u.group.months)
			}
		}
		g.of.Month, g.shared = g.months[0], g.months
		for _, a := range g.sums.all {
			a.gone = sharing(a.snapshot.Files, g.months)
		}
		_, err = g.make(ctx)
		return err
	})
	if merged {
		err = errors.Join(err, m.markClean(ctx, of))
	}
	if err == nil && merged {
		err = m.publish(ctx, tenant)
	}
	return merged, of.wrap(err)
}

// mergeOf has files go, and nothing come but what they have.
func (g *readingsMaking) mergeOf(files []catalog.File) {
	g.merges, g.months = true, nil
	for _, f := range files {
		g.replace(f)
	}
}

// crowded returns files that are to become one first, however large, if more go than one transaction replaces: days of
// partitions that share a small file have grown since.
func (g *readingsMaking) crowded() []catalog.File {
	most := mostReplaced(len(g.months)) - 1 // beside a new one
	if len(g.gone) <= most {
		return nil
	}
	bySize := func(a, b catalog.File) int { return cmp.Compare(a.Bytes, b.Bytes) }
	return slices.SortedFunc(slices.Values(g.gone), bySize)[:most]
}

// join makes one of files of readings, in a version of its own. Rollups and reports are of the same readings then.
func (m *Tables) join(ctx context.Context, of TableDay, files []catalog.File) error {
	g, err := m.begin(ctx, TableDay{Tenant: of.Tenant, Day: of.Day})
	if err != nil {
		return err
	}
	g.mergeOf(files)
	g.of.Month, g.shared, g.sums.all, g.joins = g.months[0], g.months, nil, true
	_, err = g.make(ctx)
	return err
}

// mergeMark is what the name of the mark begins with that has a day's small files become one; the day follows. Each
// partition of the fleet leaves its own, as jobs look at those of partitions with devices: all but the first job find
// nothing to do.
const mergeMark = "merge-"

// markMerge leaves the mark, if there are enough small files once a making is committed.
func (g *readingsMaking) markMerge(ctx context.Context) error {
	if g.of.Hour > 0 {
		return nil
	}
	files := slices.DeleteFunc(slices.Clone(g.snapshot.Files), func(f catalog.File) bool {
		return slices.ContainsFunc(g.gone, func(o catalog.File) bool { return o.Name == f.Name })
	})
	if one, _ := fewer(g.mergeable(append(files, g.made...)), g.small()); len(one) == 0 {
		return nil
	}
	mark := schema.Mark{Month: g.of.Month, Kind: schema.ArchiveMark, Tenant: g.of.Tenant,
		Name: mergeMark + g.of.Day.String()}
	_, err := g.Source.Tracking().Do(ctx, tables.Insert(mark.Entity()))
	if errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNoTable) {
		return nil
	}
	return err
}

// mergeDue has small files become one, once a day has waited for that.
func (m *Tables) mergeDue(ctx context.Context, mark schema.Mark) error {
	day, err := schema.ParseDay(strings.TrimPrefix(mark.Name, mergeMark))
	if err != nil {
		return fmt.Errorf("%w: mark of the archive: %w", groups.ErrUnmakeable, err)
	}
	after := mergeAfter
	if len(m.Sums(mark.Tenant)) > 0 {
		after = mergeSummedAfter
	}
	if mark.Read < mark.At+after {
		return groups.ErrNotYet
	}
	if !retain.KeepOfTenant(m.Source.Keep, mark.Tenant).KeepsDay(day, mark.Read) {
		return nil
	}
	for merged := true; merged && err == nil; {
		merged, err = m.Merge(ctx, mark.Tenant, day)
	}
	if errors.Is(err, catalog.ErrAbsent) { // the tenant has gone
		err = nil
	}
	return made(err)
}
