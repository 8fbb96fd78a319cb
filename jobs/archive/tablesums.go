package archive

import (
	"cmp"
	"context"
	"errors"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/groups"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A sumTable is a table of rollups or reports while a day of it is made.
type sumTable struct {
	kind     string // rollupsKind or reportsKind
	window   schema.Window
	table    *catalog.Table
	store    *Store
	day      schema.Day
	snapshot *catalog.Snapshot
	gone     []catalog.File
	about    []columnar.NamedSeries // columns of rollups about devices
	by       []schema.By            // groups of reports

	made    []catalog.File // one, if there are rows
	file    *tableFile
	to      *columnar.TableWriter
	devices columnar.Range[string]
	times   columnar.Range[time.Time]
	groups  map[tables.Ticks]*report.Groups // by the start of their buckets

	check hash.Hash // if it is not nil, rows are not written, but added to it
}

// tableSums makes the days of a tenant's rollups and reports from the readings that its table gets: so they are what
// the readings say, whatever other pipelines are behind with.
type tableSums struct {
	*Tables
	all    []*sumTable
	series *rollup.Series // of the device that is being read
	member *schema.Member
}

// sumColumns are those of tables of rollups and reports.
func sumColumns(kind string) []delta.Column {
	column := func(name string, t delta.Type) delta.Column { return delta.Column{Name: name, Type: t} }
	text := func(name string) delta.Column { return delta.Column{Name: name, Type: delta.Text, Nullable: true} }
	all := []delta.Column{column(columnar.Device, delta.Text), column(columnar.Time, delta.Moment)}
	if kind == reportsKind {
		all = []delta.Column{text("by"), text("group"), column(columnar.Time, delta.Moment)}
	}
	all = append(all, text("sensor"), column("count", delta.Long))
	for _, name := range []string{"sum", "min", "max", "first", "last"} {
		all = append(all, column(name, delta.Double))
	}
	all = append(all, column("first_time", delta.Moment), column("last_time", delta.Moment))
	if kind == reportsKind {
		all = append(all, column("devices", delta.Long))
	}
	return append(all, column("date", delta.Date))
}

// Sums returns the tenant's tables of rollups and reports, which need not exist.
func (m *Tables) Sums(t schema.Tenant) (all []*catalog.Table) {
	for _, w := range m.Summed.Rollups {
		all = append(all, m.Catalog.Table(t, rollupsKind+"-"+w.String()))
	}
	for _, w := range m.Summed.Reports {
		all = append(all, m.Catalog.Table(t, reportsKind+"-"+w.String()))
	}
	return all
}

// sumsOf returns the kind and window of a table of rollups or reports.
func sumsOf(t *catalog.Table) (kind string, w schema.Window, is bool) {
	kind, text, _ := strings.Cut(t.Name, "-")
	w, err := schema.ParseWindow(text)
	return kind, w, err == nil && (kind == rollupsKind || kind == reportsKind)
}

// beginSums reads what the tables have of the day, before its readings are read.
func (m *Tables) beginSums(ctx context.Context, of TableDay) (*tableSums, error) {
	s := &tableSums{Tables: m}
	if of.Hour > 0 {
		return s, nil
	}
	for i, t := range m.Sums(of.Tenant) {
		one := &sumTable{kind: rollupsKind, table: t, store: m.Store, day: of.Day}
		if i < len(m.Summed.Rollups) {
			one.window = m.Summed.Rollups[i]
		} else {
			one.kind, one.window, one.by = reportsKind, m.Summed.Reports[i-len(m.Summed.Rollups)], m.Summed.By
			if by, is := m.formerBy[one.window]; is {
				one.by = by
			}
		}
		if err := one.begin(ctx, m.About); err != nil {
			return nil, err
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

func (a *sumTable) begin(ctx context.Context, about About) (err error) {
	if a.snapshot, err = a.table.Begin(ctx, a.day); err != nil {
		return err
	}
	if a.kind == reportsKind || len(about) == 0 {
		return nil
	}
	var wanted []catalog.Series
	for _, name := range about {
		wanted = append(wanted, catalog.Series{Sensor: name, Type: delta.Text, About: true})
	}
	names, err := a.table.Columns(ctx, wanted)
	for _, s := range wanted {
		a.about = append(a.about, columnar.NamedSeries{Series: columnarSeries(s), Name: names[s]})
	}
	return err
}

// reset begins with the first reading.
func (s *tableSums) reset(ctx context.Context) error {
	s.series, s.member = nil, nil
	for _, a := range s.all {
		if err := a.table.Abandon(ctx, a.made); err != nil {
			return err
		}
		a.made, a.to, a.groups = nil, nil, map[tables.Ticks]*report.Groups{}
	}
	return nil
}

// open begins the file of a table, with its first row.
func (a *sumTable) open(ctx context.Context) (err error) {
	if a.file, err = a.store.newTableFile(ctx, a.table, a.day, a.about); err != nil {
		return err
	}
	a.made = []catalog.File{a.file.File}
	a.to = columnar.NewTable(a.file.writer(ctx), a.columns())
	return nil
}

// write writes a row.
func (a *sumTable) write(ctx context.Context, device string, at time.Time, row []any) error {
	if a.check != nil {
		hashRow(a.check, row[:len(sumColumns(a.kind))-1])
		return nil
	}
	if a.to == nil {
		if err := a.open(ctx); err != nil {
			return err
		}
		a.devices.Min, a.times.Min, a.times.Max = device, at, at
	}
	a.devices.Max = max(a.devices.Max, device)
	if at.Before(a.times.Min) {
		a.times.Min = at
	}
	if at.After(a.times.Max) {
		a.times.Max = at
	}
	return a.to.Write(row...)
}

// add adds a reading.
func (s *tableSums) add(ctx context.Context, one *groups.DayReading) error {
	if len(s.all) == 0 {
		return nil
	}
	if s.member == nil || s.member.Device != one.Member.Device {
		if err := s.endDevice(ctx); err != nil {
			return err
		}
		s.member, s.series = one.Member, rollup.NewSeries(s.windows()...)
	}
	ended, err := s.series.Add(&one.Sample)
	if err != nil {
		return err
	}
	return s.buckets(ctx, ended)
}

func (s *tableSums) windows() (all []schema.Window) {
	for _, a := range s.all {
		if !slices.Contains(all, a.window) {
			all = append(all, a.window)
		}
	}
	return all
}

// endDevice ends a device.
func (s *tableSums) endDevice(ctx context.Context) error {
	if s.series == nil {
		return nil
	}
	return s.buckets(ctx, s.series.End())
}

func (s *tableSums) buckets(ctx context.Context, ended []rollup.Bucket) error {
	for _, b := range ended {
		for _, a := range s.all {
			if a.window != b.Window {
				continue
			}
			if a.kind == reportsKind {
				if a.groups[b.Start] == nil {
					a.groups[b.Start] = &report.Groups{By: a.by}
				}
				a.groups[b.Start].Add(s.member.PlacementAt(b.Start), b.Sensors, schema.Stored{})
				continue
			}
			about := s.About.values(s.member)
			for _, sensor := range slices.Sorted(maps.Keys(b.Sensors)) {
				row := append([]any{string(s.member.Device), b.Start, sensor}, timed(b.Sensors[sensor])...)
				for _, value := range about {
					row = append(row, value)
				}
				if err := a.write(ctx, string(s.member.Device), b.Start.Time(), row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// close ends the last device and puts the files.
func (s *tableSums) close(ctx context.Context) error {
	if err := s.endDevice(ctx); err != nil {
		return err
	}
	for _, a := range s.all {
		for _, start := range slices.Sorted(maps.Keys(a.groups)) {
			for l := range a.groups[start].Lines() {
				row := append([]any{string(l.By), l.Group, start, l.Sensor}, timed(l.Timed)...)
				if err := a.write(ctx, "", start.Time(), append(row, l.Devices)); err != nil {
					return err
				}
			}
		}
		if err := a.put(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put puts the file, if there are rows.
func (a *sumTable) put(ctx context.Context) error {
	if a.to == nil {
		return nil
	}
	if err := a.to.Close(); err != nil {
		return err
	}
	ranges := map[string]delta.Range{columnar.Time: delta.Times(a.times.Min, a.times.Max)}
	if a.kind == rollupsKind {
		ranges[columnar.Device] = delta.Range(a.devices)
	}
	file, err := a.file.put(ctx, a.to.Rows, ranges)
	a.made[0] = file
	return err
}

// commit commits the files of all tables, before the readings that they are made of: whoever finds those finds these.
func (s *tableSums) commit(ctx context.Context, g *readingsMaking) error {
	for _, a := range s.all {
		if len(a.gone)+len(a.made) == 0 {
			continue
		}
		c := &catalog.Change{Why: "readings of a day", Gone: a.gone, New: a.made}
		for i, month := range g.shared { // files of several partitions are counted in that of the day
			d := a.snapshot.Day(month)
			d.Rows, d.Watermark = 0, cmp.Or(d.Watermark, g.snapshot.Day(month).Watermark)
			if i == 0 && !g.merges {
				d.Watermark = g.watermark()
			}
			c.Days = append(c.Days, d)
		}
		for i := range a.made {
			a.made[i].Months = g.shared
			c.Days[0].Rows += a.made[i].Stats.Rows
		}
		if _, err := a.table.Commit(ctx, a.snapshot, c); err != nil {
			return err
		}
		a.made = nil
	}
	return nil
}

// abandon gives up what is not committed.
func (s *tableSums) abandon(ctx context.Context) error {
	var errs []error
	for _, a := range s.all {
		errs = append(errs, a.table.Abandon(ctx, a.made))
	}
	return errors.Join(errs...)
}

// columns returns the columns of the table's files.
func (a *sumTable) columns() (all []columnar.TableColumn) {
	for _, c := range sumColumns(a.kind) {
		if c.Name != "date" {
			all = append(all, columnar.TableColumn{Name: c.Name, Type: tableTypeOf(c.Type)})
		}
	}
	for _, s := range a.about {
		all = append(all, columnar.TableColumn{Name: s.Name})
	}
	return all
}

// tableTypeOf returns the type of a column of files.
func tableTypeOf(t delta.Type) columnar.Type {
	switch t {
	case delta.Moment:
		return columnar.Moments
	case delta.Long:
		return columnar.Counts
	case delta.Double:
		return columnar.Doubles
	}
	return columnar.Words
}

func timed(t rollup.Timed) []any {
	return []any{t.Count, t.Sum, t.Min, t.Max, t.First, t.Last, t.FirstAt, t.LastAt}
}
