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
	// So long a day waits once it has small files: partitions of the fleet end it in the same minutes.
	mergeAfter = 2 * tables.Hour
)

// A mergeUnit is what goes together when files of a day become one.
type mergeUnit struct {
	files      []catalog.File
	months     []schema.Month
	bytes      int64
	unfinished bool // a merge was killed
}

// units returns each of files by itself.
func units(files []catalog.File) (all []mergeUnit) {
	for _, f := range files {
		all = append(all, mergeUnit{files: []catalog.File{f}, months: f.Months, bytes: f.Bytes})
	}
	return all
}

// small is how large a file is at most that becomes one with others.
func (m *Tables) small() int64 { return int64(cmp.Or(m.FileBytes, tableFileBytes)) / 2 }

// fewer divides units into those that become one, if they are enough, and the others.
func fewer(all []mergeUnit, small int64) (one, others []mergeUnit) {
	if i := slices.IndexFunc(all, func(u mergeUnit) bool { return u.unfinished }); i >= 0 {
		return all[i : i+1], slices.Delete(slices.Clone(all), i, i+1)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b mergeUnit) int { return cmp.Compare(a.bytes, b.bytes) })
	n, bytes, files, months := 0, int64(0), 0, map[schema.Month]bool{}
	for i, u := range all {
		for _, m := range u.months {
			months[m] = true
		}
		if files += len(u.files); u.bytes >= small || files > mostMerged || len(months) > mostMonths {
			break
		}
		if i+1 >= mergedFiles && u.bytes <= 2*bytes {
			n = i + 1
		}
		bytes += u.bytes
	}
	return all[:n], all[n:]
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
	open := func(m schema.Month) bool { return m != g.of.Month && g.snapshot.Day(m).Watermark == 0 }
	if len(g.sums.all) == 0 {
		return slices.DeleteFunc(units(files), func(u mergeUnit) bool { return slices.ContainsFunc(u.months, open) })
	}
	left := map[schema.Month]bool{}
	for _, f := range files {
		left[f.Months[0]] = true
	}
	for m := range left {
		if slices.ContainsFunc(all, func(u mergeUnit) bool { return slices.Contains(u.months, m) }) {
			continue
		}
		together := &readingsMaking{Tables: g.Tables, snapshot: &catalog.Snapshot{Files: files}, sums: g.sums,
			of: TableDay{Month: m}, months: []schema.Month{m}}
		together.replaceAll()
		u := mergeUnit{files: together.gone, months: together.months}
		for _, f := range u.files {
			u.bytes += f.Bytes
		}
		u.unfinished = together.unfinished()
		if !slices.ContainsFunc(u.months, open) {
			all = append(all, u)
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
		one, _ := fewer(g.mergeable(g.snapshot.Files), m.small())
		if merged = len(one) > 0; !merged {
			return nil
		}
		g.merges, g.months = true, nil
		for _, u := range one {
			for _, f := range u.files {
				g.replace(f)
			}
		}
		of.Month = g.months[0]
		g.of = of
		g.shared = g.months
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
	if mark.Read < mark.At+mergeAfter {
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
