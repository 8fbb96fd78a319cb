package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Tables makes what the tables of an archive have of tenants' days.
type Tables struct {
	Catalog *catalog.Catalog
	Store   *Store
	Source  *groups.Source
	About   About
	Summed  Summed // tables of rollups and reports that there are besides readings
	// Settle is how long a row may take to become visible to everybody.
	Settle time.Duration
	// FileBytes is about how large a file becomes; zero means 64 MiB.
	FileBytes int
}

// A TableDay is a day of a tenant, of the devices in one partition of the fleet.
type TableDay struct {
	Tenant schema.Tenant
	Day    schema.Day
	Month  schema.Month
}

// readingsTable is the name of a tenant's table of readings.
const readingsTable = "readings"

// readingsColumns are those of tables of readings, beside the columns of sensors.
func readingsColumns() []delta.Column {
	return []delta.Column{{Name: columnar.Device, Type: delta.Text}, {Name: columnar.Time, Type: delta.Moment},
		{Name: columnar.Key, Type: delta.Text}, {Name: columnar.Doubtful, Type: delta.Boolean, Nullable: true},
		{Name: "date", Type: delta.Date}}
}

// Readings returns a tenant's table of readings, which need not exist.
func (m *Tables) Readings(t schema.Tenant) *catalog.Table { return m.Catalog.Table(t, readingsTable) }

// Clean makes checkpoints of a tenant's tables where they are due, and deletes what the tables no longer need: blobs
// of files that left a day ago or were never committed, and what of their logs is older than a week.
func (m *Tables) Clean(ctx context.Context, tenant schema.Tenant) error {
	all, err := m.Catalog.Tables(ctx, tenant)
	for _, t := range all {
		err := t.Checkpoint(ctx, m.Store, false)
		if err == nil {
			err = t.Clean(ctx, m.Store)
		}
		if err == nil {
			err = t.CleanLog(ctx, m.Store, keptLog)
		}
		if err != nil && !errors.Is(err, catalog.ErrAbsent) {
			return err
		}
	}
	return err
}

// keptLog is how long versions of tables can be read after there is a checkpoint above them.
const keptLog = 7 * 24 * time.Hour

// MakeDay makes what a tenant's tables have of a day again, from the readings that storage has, and publishes it.
// Of devices whose rows retention may have deleted, it takes over what the table has. Repeated, by anybody and at any
// time, it does what is left.
func (m *Tables) MakeDay(ctx context.Context, of TableDay) error {
	t := m.Readings(of.Tenant)
	if err := t.Create(ctx, readingsColumns()); err != nil {
		return err
	}
	if err := again(ctx, func() error { return m.tryDay(ctx, t, of) }); err != nil {
		return fmt.Errorf("%s, partition %s: %w", of.Day, of.Month, err)
	}
	for _, one := range append(m.Sums(of.Tenant), t) {
		if _, err := one.Publish(ctx, m.Store); err != nil {
			return err
		}
	}
	return nil
}

// again does something until nobody has been faster.
func again(ctx context.Context, once func() error) (err error) {
	for try := range commit.Tries {
		if err = once(); !errors.Is(err, catalog.ErrStale) {
			break
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return err
}

func (m *Tables) tryDay(ctx context.Context, t *catalog.Table, of TableDay) error {
	sums, err := m.beginSums(ctx, of)
	if err != nil {
		return err
	}
	s, err := t.Begin(ctx, of.Day)
	if err != nil {
		return err
	}
	making := &readingsMaking{Tables: m, table: t, of: of, sums: sums}
	for _, f := range s.Files {
		if slices.Contains(f.Months, of.Month) {
			making.gone = append(making.gone, f)
		}
	}
	slices.SortFunc(making.gone, func(a, b catalog.File) int {
		return cmp.Compare(a.Stats.Ranges[columnar.Device].Min, b.Stats.Ranges[columnar.Device].Min)
	})
	defer making.past.close()
	if err = making.write(ctx); err != nil {
		return errors.Join(err, making.abandon(ctx))
	}
	watermark := making.began.Add(-m.Settle)
	err = sums.commit(ctx, watermark)
	if err == nil && len(making.gone)+len(making.made) > 0 {
		d := s.Day(of.Month)
		d.Rows, d.Watermark = making.rows, watermark
		_, err = t.Commit(ctx, s, &catalog.Change{Why: "readings of a day", Days: []catalog.Day{d}, Gone: making.gone,
			New: making.made})
	}
	if errors.Is(err, catalog.ErrStale) { // after any other error, it may have been committed: cleaning finds out
		err = errors.Join(err, making.abandon(ctx))
	}
	return err
}

// abandon gives up what is not committed.
func (g *readingsMaking) abandon(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(g.table.Abandon(ctx, g.made), g.sums.abandon(ctx))
}

// A readingsMaking is one reading of a day.
type readingsMaking struct {
	*Tables
	table *catalog.Table
	of    TableDay
	gone  []catalog.File // that are replaced, in the order of devices
	past  tablePast
	sums  *tableSums

	series map[columnar.Series]bool // that are expected, and those that were met
	made   []catalog.File
	read   map[schema.DeviceID]bool // devices of the fleet whose rows were read from storage
	rows   int64
	began  tables.Ticks
}

// write reads the day and puts its files. It reads twice if it meets a series that it did not expect.
func (g *readingsMaking) write(ctx context.Context) error {
	known, err := g.expected(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if err := errors.Join(g.past.reset(), g.sums.reset(ctx)); err != nil {
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
	if len(files) == 0 {
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
	for s := range maps.Keys(series) {
		all = append(all, columnar.NamedSeries{Series: s, Name: names[catalogSeries(s)]})
	}
	slices.SortFunc(all, func(a, b columnar.NamedSeries) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// writeOnce reads the day and puts its files, unless it meets a series that has no column. Then it goes on to find
// all, and reports false.
func (g *readingsMaking) writeOnce(ctx context.Context, known []columnar.NamedSeries) (whole bool, err error) {
	g.rows, g.read, whole = 0, map[schema.DeviceID]bool{}, true
	has := map[columnar.Series]bool{}
	for _, s := range known {
		has[s.Series] = true
	}
	if g.series == nil {
		g.series = map[columnar.Series]bool{}
	}
	day := g.Source.TenantDay(g.of.Month, g.of.Tenant, g.of.Day)
	if len(g.gone) > 0 {
		day.Past = func(d *schema.Member) iter.Seq2[fold.Sample, error] { return g.past.readings(ctx, g, d.Device) }
	}
	day.FromStorage = func(d *schema.Member) {
		if d.ETag != "" { // of the fleet
			g.read[d.Device] = true
		}
	}
	var to *tableFile
	for one, err := range day.Readings(ctx, "", "", func(at tables.Ticks) { g.began = at }) {
		if err != nil {
			return false, err
		}
		about := g.About.properties(one.Member)
		for _, s := range append(columnar.SeriesOf(&one.Sample), aboutSeries(about)...) {
			if !has[s] {
				whole, has[s], g.series[s] = false, true, true
			}
		}
		if !whole {
			continue
		}
		if to, err = g.fileFor(ctx, to, one.Member.Device, known); err != nil {
			return false, err
		}
		if err := errors.Join(to.write(&one, about), g.sums.add(ctx, &one)); err != nil {
			return false, err
		}
		g.rows++
	}
	if !whole {
		return false, g.giveUp(ctx)
	}
	if err := errors.Join(g.end(ctx, to), g.sums.close(ctx)); err != nil {
		return false, err
	}
	return true, g.unraised(ctx, day)
}

// giveUp ends what was put before a series without a column.
func (g *readingsMaking) giveUp(ctx context.Context) error {
	made := g.made
	g.made = nil
	return g.table.Abandon(ctx, made)
}

// unraised returns ErrStale if retention has begun with a device whose rows were read from storage, or may have: a
// device that has left the fleet meanwhile does not say so any more.
func (g *readingsMaking) unraised(ctx context.Context, day groups.TenantDay) error {
	if len(g.gone) == 0 {
		return nil
	}
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
