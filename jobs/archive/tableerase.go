package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/tables"
	"furrow/tables/schema"
)

// Erased is what an erasure has done to a table.
type Erased struct {
	Rows   int64    // readings that are gone
	Files  int      // that were replaced or removed
	Copies []string // containers with copies of the tables: the device leaves them when they are made again
}

// Erase erases devices from all tables of a tenant, those that are no longer configured as well, and ends the tables'
// earlier versions. Nobody may be able to read them from storage any more: whoever makes a day again does not put them
// back. Repeated, it does what is left.
//
// Reports have no devices: days of readings that have some are made again, and their reports with them. Days in the
// form of an earlier release are taken over into the tables first, without the devices. An error of one table keeps the
// others from nothing.
func (m *Tables) Erase(ctx context.Context, month schema.Month, tenant schema.Tenant,
	devices ...schema.DeviceID) (all Erased, err error) {
	if m.Source != nil {
		if err := m.eraseOlder(ctx, month, tenant, devices); err != nil {
			return all, err
		}
	}
	every, err := m.Catalog.Tables(ctx, tenant)
	if err == nil {
		all.Copies, err = m.Catalog.Copies(ctx, tenant)
	}
	if err != nil {
		return all, err
	}
	maker := m.with(Summed{Rollups: m.Summed.Rollups, By: m.Summed.By})
	for _, t := range every { // whoever has read the devices begins again
		if err := t.RaiseEpoch(ctx); err != nil && !errors.Is(err, catalog.ErrAbsent) {
			return all, err
		}
		if kind, w, is := sumsOf(t); is && kind == reportsKind {
			maker.Summed.Reports = append(maker.Summed.Reports, w)
		}
	}
	if len(maker.Summed.Reports) > 0 && m.Source == nil {
		return all, errors.New("the archive has reports that may count the device, and only a pipeline with the processor " +
			"archive makes them again")
	}
	if len(maker.Summed.Reports) > 0 {
		if err := maker.makeAgain(ctx, tenant, every, devices, &all); err != nil {
			return all, err
		}
	}
	var errs []error
	for _, t := range every {
		errs = append(errs, m.eraseFrom(ctx, t, month, devices, &all))
	}
	if m.Source != nil && len(every) > 0 { // blobs go once more a day later
		errs = append(errs, m.markClean(ctx, TableDay{Tenant: tenant, Month: month}))
	}
	err = errors.Join(errs...)
	if err == nil && m.Source != nil {
		err = m.removeEmpty(ctx, every)
	}
	return all, err
}

// removeEmpty removes the tables of a tenant that has neither readings nor devices any more, so that nothing names it.
func (m *Tables) removeEmpty(ctx context.Context, every []*catalog.Table) error {
	months, err := m.Source.Months(ctx)
	if err != nil || len(every) == 0 {
		return err
	}
	for _, month := range months {
		if has, err := m.Source.Has(ctx, month, every[0].Tenant); err != nil || has {
			return err
		}
	}
	for _, t := range every {
		if err := t.RemoveEmpty(ctx, m.Store); err != nil {
			return err
		}
	}
	return nil
}

// eraseOlder takes days in the form of an earlier release over into tables: those have none of a device that has left
// with its data. Jobs that read the device before it left make the same days again, as their marks are left again.
func (m *Tables) eraseOlder(ctx context.Context, month schema.Month, tenant schema.Tenant,
	devices []schema.DeviceID) error {
	if err := m.Source.RenewMarks(ctx, month, schema.ArchiveMark, tenant); err != nil {
		return err
	}
	for day, err := range m.older.days(ctx, m.Store, tenant, month) {
		if err == nil && m.Hold {
			err = errors.New("the archive is in the form of an earlier release: once no process of that runs, have it taken " +
				"over by furrow config apply, and repeat this")
		}
		if err == nil {
			err = m.takeOver(ctx, TableDay{Tenant: tenant, Day: day, Month: month})
		}
		if err != nil && !errors.Is(err, catalog.ErrForeign) {
			return err
		}
	}
	return m.older.erase(ctx, m.Store, tenant, devices)
}

// takeOver takes a day over into the tables. Of one that has only hours, storage has all rows: it may be open still.
func (m *Tables) takeOver(ctx context.Context, of TableDay) error {
	old, err := m.older.read(ctx, m, of)
	if err != nil || !old.has() {
		return errors.Join(err, old.delete(ctx))
	}
	return m.MakeDay(ctx, of)
}

// makeAgain makes the days again whose readings have devices, and those with reports of readings that were never
// committed.
func (m *Tables) makeAgain(ctx context.Context, tenant schema.Tenant, every []*catalog.Table,
	devices []schema.DeviceID, all *Erased) error {
	days, read := map[TableDay]bool{}, map[TableDay]tables.Ticks{}
	for d, err := range m.Readings(tenant).Days(ctx) {
		if err != nil {
			return err
		}
		read[TableDay{Tenant: tenant, Day: d.Date, Month: d.Month}] = d.Watermark
	}
	for _, t := range every {
		if kind, _, _ := sumsOf(t); kind != reportsKind {
			continue
		}
		for d, err := range t.Days(ctx) {
			if err != nil {
				return err
			}
			if of := (TableDay{Tenant: tenant, Day: d.Date, Month: d.Month}); read[of] != d.Watermark {
				days[of] = true
			}
		}
	}
	for f, err := range m.Readings(tenant).AllFiles(ctx) {
		if err != nil {
			return err
		}
		of := TableDay{Tenant: tenant, Day: f.Date, Month: f.Months[0]} // with all others that the file has
		if mayHave(f, devices) && read[of] > 0 {                        // an open day has no reports
			days[of] = true
		}
	}
	for day := range days {
		before, err := m.rowsOf(ctx, day)
		if err != nil {
			return err
		}
		if err := m.MakeDay(ctx, day); err != nil && !errors.Is(err, catalog.ErrForeign) {
			return err
		}
		after, err := m.rowsOf(ctx, day)
		if err != nil {
			return err
		}
		if after < before {
			all.Rows, all.Files = all.Rows+before-after, all.Files+1
		}
	}
	return nil
}

// rowsOf returns how many readings the table has of a day.
func (m *Tables) rowsOf(ctx context.Context, of TableDay) (n int64, err error) {
	for f, err := range m.Readings(of.Tenant).Files(ctx, of.Day, of.Day) {
		if err != nil {
			return n, err
		}
		n += f.Stats.Rows
	}
	return n, nil
}

// mayHave reports whether a file may have rows of devices.
func mayHave(f catalog.File, devices []schema.DeviceID) bool {
	of, is := f.Stats.Ranges[columnar.Device]
	return is && slices.ContainsFunc(devices, func(d schema.DeviceID) bool {
		return string(d) >= of.Min && string(d) <= of.Max
	})
}

// eraseFrom erases devices from one table.
func (m *Tables) eraseFrom(ctx context.Context, t *catalog.Table, month schema.Month, devices []schema.DeviceID,
	all *Erased) (err error) {
	for found := true; err == nil && found; {
		found, err = m.erasePass(ctx, t, month, devices, all)
	}
	if err == nil {
		err = t.Cleaner(m.Store).EndVersions(ctx)
	}
	if err = errors.Join(err, t.Cleaner(m.Store).Clean(ctx, 0)); errors.Is(err, catalog.ErrAbsent) {
		return nil
	}
	return err
}

// erasePass erases devices from all files that the table has, and reports whether one had any of their rows, or was
// replaced meanwhile: then another pass looks for what came.
func (m *Tables) erasePass(ctx context.Context, t *catalog.Table, month schema.Month, devices []schema.DeviceID,
	all *Erased) (found bool, err error) {
	for f, err := range t.AllFiles(ctx) {
		if err != nil {
			return found, err
		}
		if !mayHave(f, devices) {
			continue
		}
		err := again(ctx, func() error {
			gone, replaced, err := m.eraseFile(ctx, t, f, month, devices)
			if found = found || replaced; gone > 0 {
				found, all.Rows, all.Files = true, all.Rows+gone, all.Files+1
			}
			return err
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// eraseFile puts a copy without devices in place of a file that the table has, and returns how many rows were left
// out, or that another has replaced the file.
func (m *Tables) eraseFile(ctx context.Context, t *catalog.Table, of catalog.File, month schema.Month,
	devices []schema.DeviceID) (gone int64, replaced bool, err error) {
	s, err := t.Begin(ctx, of.Date)
	if err != nil {
		return 0, false, err
	}
	i := slices.IndexFunc(s.Files, func(f catalog.File) bool { return f.Name == of.Name })
	if i < 0 {
		return 0, true, nil
	}
	copied := m.readingsWithout
	if _, _, is := sumsOf(t); is {
		copied = m.rollupsWithout
	}
	gone, made, err := copied(ctx, t, s.Files[i], devices)
	if err != nil || gone == 0 {
		return 0, false, errors.Join(err, t.Abandon(context.WithoutCancel(ctx), made))
	}
	c := &catalog.Change{Why: "erased", New: made, Erases: true}
	if !c.Remove(s, s.Files[i]) {
		return 0, false, fmt.Errorf("file %s: a version has no room for its partitions", of.Name)
	}
	for i := range made {
		made[i].Months = of.Months
		c.Days[0].Rows += made[i].Stats.Rows
	}
	if n := slices.Index(of.Months, month); n > 0 { // a file of several partitions was counted in the first
		c.Days[0].Rows, c.Days[n].Rows = c.Days[0].Rows+gone, c.Days[n].Rows-gone
	}
	if _, err = t.Commit(ctx, s, c); errors.Is(err, catalog.ErrStale) {
		err = errors.Join(err, t.Abandon(context.WithoutCancel(ctx), made))
	}
	if err != nil {
		return 0, false, err
	}
	return gone, false, nil
}

// readingsWithout copies a file of readings.
func (m *Tables) readingsWithout(ctx context.Context, t *catalog.Table, f catalog.File,
	devices []schema.DeviceID) (gone int64, made []catalog.File, err error) {
	g := &readingsMaking{Tables: m, table: t, gone: []catalog.File{f}, months: f.Months,
		of: TableDay{Tenant: t.Tenant, Day: f.Date, Month: f.Months[0]}}
	from := &pastFile{File: f}
	defer from.close()
	if err := from.open(ctx, g); err != nil {
		return 0, nil, err
	}
	series := from.reader.Series
	var to *tableFile
	for ; err == nil && from.ahead != nil; err = from.advance() {
		one := from.ahead
		if slices.Contains(devices, one.Device) {
			gone++
			continue
		}
		if to, err = g.fileFor(ctx, to, one.Device, series); err != nil {
			return 0, g.made, err
		}
		if err := to.to.Write(string(one.Device), one.About, &one.Sample); err != nil {
			return 0, g.made, err
		}
	}
	if err == nil {
		err = g.putFile(ctx, to)
	}
	return gone, g.made, err
}

// rollupsWithout copies a file of rollups.
func (m *Tables) rollupsWithout(ctx context.Context, t *catalog.Table, f catalog.File,
	devices []schema.DeviceID) (gone int64, made []catalog.File, err error) {
	a := &sumTable{kind: rollupsKind, table: t}
	for _, name := range f.Columns {
		a.about = append(a.about, columnar.NamedSeries{Name: name})
	}
	content, etag, err := m.Store.Get(ctx, t.Path(&f))
	if err != nil {
		return 0, nil, err
	}
	if etag == "" {
		return 0, nil, fmt.Errorf("%w: file %s has gone", catalog.ErrStale, f.Name)
	}
	of := TableDay{Tenant: t.Tenant, Day: f.Date, Month: f.Months[0]}
	err = columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
		device, _ := row[0].(string)
		if slices.Contains(devices, schema.DeviceID(device)) {
			gone++
			return nil
		}
		at, _ := row[1].(int64)
		for i, v := range row {
			if v == nil {
				row[i] = ""
			}
		}
		return a.write(ctx, m, of, device, time.UnixMicro(at), row)
	})
	if err == nil {
		err = a.put(ctx)
	}
	return gone, a.made, err
}
