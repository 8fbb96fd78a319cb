package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// A readingsMaking is one reading of a day.
type readingsMaking struct {
	*Tables
	table    *catalog.Table
	snapshot *catalog.Snapshot
	of       TableDay
	months   []schema.Month // partitions of the fleet with rows in the files that are made; that of the day first
	shared   []schema.Month // those, and all that rollups and reports are made of
	gone     []catalog.File // that are replaced
	past     tablePast
	stay     []catalog.File // that late rows are put beside
	beside   staying
	merges   bool // nothing is read from storage
	joins    bool // one file is made
	relabels bool // a file says something else about a device than what is known now
	sums     *tableSums
	// passedOver, if it is not nil, is called with each reading of the files that is of no device.
	passedOver func(*pastFile)

	older *olderDay
	asked []schema.DeviceID // whose rows are read from storage, sorted; nil: of all devices

	series map[columnar.Series]bool  // that are expected, and those that were met
	wide   map[catalog.Series]string // all columns, if files that are expected have the one that sensors share
	made   []catalog.File
	read   map[schema.DeviceID]bool // devices of the fleet whose rows were read from storage
	stored schema.DeviceID          // the last device whose rows are
	stayed bool                     // the last reading of files is in one that stays
	rows   map[schema.Month]int64   // that were written, by their partitions
	began  tables.Ticks
}

// write reads the day and puts its files. It reads twice if it meets a series that it did not expect.
func (g *readingsMaking) write(ctx context.Context) error {
	known, err := g.expected(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := errors.Join(g.past.reset(g.gone), g.beside.reset(g.stay), g.older.reset(), g.sums.reset(ctx)); err != nil {
			return err
		}
		whole, err := g.writeOnce(ctx, known)
		if err != nil || whole {
			return err
		}
		if known, err = g.named(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: sensors that no reading had a moment ago", catalog.ErrStale)
}

// expected returns the columns that the day probably needs: those of the files that are replaced, or of the day
// before.
func (g *readingsMaking) expected(ctx context.Context) ([]columnar.NamedSeries, error) {
	files := g.gone
	if len(files)+len(g.stay) == 0 { // late rows of few devices may have few of the day's columns
		for f, err := range g.table.Files(ctx, g.of.Day-1, g.of.Day-1) {
			if err != nil {
				return nil, err
			}
			if slices.Contains(f.Months, g.of.Month) {
				files = append(files, f)
			}
		}
	}
	wanted := map[string]bool{}
	for _, f := range files {
		for _, name := range f.Columns {
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	all, err := g.table.Columns(ctx, nil)
	if err != nil {
		return nil, err
	}
	g.series = map[columnar.Series]bool{}
	for s := range all {
		if wanted[all[s]] {
			g.series[columnarSeries(s)] = true
		}
	}
	if g.series[columnar.Series{Kind: columnar.More}] {
		g.wide = all
	}
	return sorted(g.series, all), nil
}

// named returns the columns of all series that were met.
func (g *readingsMaking) named(ctx context.Context) ([]columnar.NamedSeries, error) {
	var wanted []catalog.Series
	for s := range g.series {
		wanted = append(wanted, catalogSeries(s))
	}
	all, err := g.table.Columns(ctx, wanted)
	return sorted(g.series, all), err
}

// sorted returns series with their names, in the order of these: equal readings make equal files.
func sorted(series map[columnar.Series]bool, names map[catalog.Series]string) (all []columnar.NamedSeries) {
	once := map[columnar.NamedSeries]bool{}
	for s := range series {
		once[columnar.NamedSeries{Series: collapse(s, names), Name: names[catalogSeries(s)]}] = true
	}
	all = slices.Collect(maps.Keys(once))
	slices.SortFunc(all, func(a, b columnar.NamedSeries) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// writeOnce reads the day and puts its files, unless it meets a series that has no column. Then it goes on to find
// all, and reports false.
func (g *readingsMaking) writeOnce(ctx context.Context, known []columnar.NamedSeries) (whole bool, err error) {
	g.rows, g.read, g.relabels, whole = map[schema.Month]int64{}, map[schema.DeviceID]bool{}, false, true
	if g.series == nil {
		g.series = map[columnar.Series]bool{}
	}
	has := maps.Clone(g.series)
	day := g.Stored(g.of)
	day.Beside = g.shared[1:]
	if len(g.gone)+len(g.stay) > 0 {
		day.Others = true
		day.Past = func(d *schema.Member) iter.Seq2[fold.Sample, error] {
			if d.Month == g.of.Month && g.reads(d.Device) && !day.Gone(d) {
				return nil
			}
			return g.pastOf(ctx, d.Device)
		}
	}
	if g.older != nil {
		day.Also = func(d *schema.Member) iter.Seq2[fold.Sample, error] { return g.older.readings(ctx, d) }
	}
	day.FromStorage = func(d *schema.Member) {
		g.stored = d.Device
		if d.ETag != "" { // of the fleet
			g.read[d.Device] = true
		}
	}
	var to *readingsFile
	for one, err := range day.Readings(ctx, "", "", func(at tables.Ticks) { g.began = at }) {
		if err != nil {
			return false, err
		}
		stays, err := g.staysIn(ctx, &one)
		if err != nil {
			return false, err
		}
		about := g.About.properties(one.Member)
		g.relabels = g.relabels || g.merges && !g.past.says(one.Member.Device, about)
		for _, s := range append(columnar.SeriesOf(&one.Sample), aboutSeries(about)...) {
			if !stays && !has[s] && !beyond(s, g.wide) {
				whole, has[s], g.series[s] = false, true, true
			}
		}
		if !whole {
			continue
		}
		if !stays {
			if to, err = g.fileFor(ctx, to, one.Member.Device, known); err == nil {
				err = to.to.Write(string(one.Member.Device), about, &one.Sample)
			}
			g.rows[one.Member.Month]++
		}
		if err := errors.Join(err, g.sums.add(ctx, &one)); err != nil {
			return false, err
		}
	}
	if !whole {
		return false, g.giveUp(ctx)
	}
	if err := errors.Join(g.putFile(ctx, to), g.sums.close(ctx)); err != nil {
		return false, err
	}
	return true, g.unraised(ctx, day)
}

// reads reports whether a device's rows are read from storage, unless retention may have deleted them.
func (g *readingsMaking) reads(d schema.DeviceID) bool {
	_, asked := slices.BinarySearch(g.asked, d)
	return !g.merges && (g.asked == nil || asked)
}

// watermark returns when every row that is read from storage had been accepted.
func (g *readingsMaking) watermark() tables.Ticks { return g.began.Add(-g.Settle) }

// giveUp ends what was put before a series without a column.
func (g *readingsMaking) giveUp(ctx context.Context) error {
	made := g.made
	g.made = nil
	return g.table.Abandon(ctx, made)
}

// unraised returns ErrStale if retention has begun with a device whose rows were read from storage, or may have: a
// device that has left the fleet meanwhile does not say so any more.
func (g *readingsMaking) unraised(ctx context.Context, day groups.TenantDay) error {
	if len(g.gone) == 0 || g.merges {
		return nil
	}
	day.Beside = nil // of other partitions nothing was read
	for m, err := range day.Members(ctx, "", "") {
		if err != nil {
			return err
		}
		if day.Gone(&m) && !g.past.taken[m.Device] {
			return fmt.Errorf("%w: retention has begun with device %s", catalog.ErrStale, m.Device)
		}
		delete(g.read, m.Device)
	}
	for device := range g.read {
		return fmt.Errorf("%w: device %s has left the fleet", catalog.ErrStale, device)
	}
	return nil
}

// properties returns what the columns about devices have of one.
func (a About) properties(m *schema.Member) map[string]string {
	if len(a) == 0 {
		return nil
	}
	all := map[string]string{}
	for i, value := range a.values(m) {
		if value != "" {
			all[a[i]] = value
		}
	}
	return all
}

func aboutSeries(about map[string]string) (all []columnar.Series) {
	for name := range about {
		all = append(all, columnar.Series{Sensor: name, Kind: columnar.Text, About: true})
	}
	return all
}

// why tells people what a version is about.
func (g *readingsMaking) why() string {
	switch {
	case g.merges:
		return fmt.Sprintf("%d small files become %d", len(g.gone), len(g.made))
	case g.of.Hour > 0 && len(g.gone) == 0:
		return "hour closed"
	case g.of.Hour > 0:
		return "hour made again"
	case g.older.has():
		return "day taken over from an earlier release"
	case len(g.stay) > 0:
		return fmt.Sprintf("late rows of %d devices", len(g.asked))
	case len(g.gone) == 0:
		return "day closed"
	}
	return "day made again"
}

// close gives up what was read.
func (g *readingsMaking) close() error {
	return errors.Join(g.past.close(), g.beside.reset(nil), g.older.reset())
}

// abandon gives up what is not committed.
func (g *readingsMaking) abandon(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(g.table.Abandon(ctx, g.made), g.sums.abandon(ctx))
}
