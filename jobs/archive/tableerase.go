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
	devices ...schema.DeviceID) (Erased, error) {
	e := &erasure{Tables: m, month: month, tenant: tenant, devices: devices}
	err := e.run(ctx)
	return e.done, err
}

// An erasure erases devices of a tenant and a partition of the fleet.
type erasure struct {
	*Tables
	month   schema.Month
	tenant  schema.Tenant
	devices []schema.DeviceID
	done    Erased
}

func (e *erasure) run(ctx context.Context) (err error) {
	if e.Source != nil {
		if err := e.takeOverOlder(ctx); err != nil {
			return err
		}
	}
	every, err := e.Catalog.Tables(ctx, e.tenant)
	if err == nil {
		e.done.Copies, err = e.Catalog.Copies(ctx, e.tenant)
	}
	if err != nil {
		return err
	}
	var reports []schema.Window
	for _, t := range every { // whoever has read the devices begins again
		if err := t.RaiseEpoch(ctx); err != nil && !errors.Is(err, catalog.ErrAbsent) {
			return err
		}
		if kind, w, is := sumsOf(t); is && kind == reportsKind {
			reports = append(reports, w)
		}
	}
	if len(reports) > 0 && e.Source == nil {
		return errors.New("the archive has reports that may count the device, and only a pipeline with the processor " +
			"archive makes them again")
	}
	if len(reports) > 0 {
		if err := e.makeAgain(ctx, every, reports); err != nil {
			return err
		}
	}
	var errs []error
	for _, t := range every {
		errs = append(errs, e.eraseFrom(ctx, t))
	}
	if e.Source != nil && len(every) > 0 { // blobs go once more a day later
		errs = append(errs, e.markClean(ctx, TableDay{Tenant: e.tenant, Month: e.month}))
	}
	err = errors.Join(errs...)
	if err == nil && e.Source != nil {
		err = e.removeEmpty(ctx, every)
	}
	return err
}

// removeEmpty removes the tables of a tenant that has neither readings nor devices any more, so that nothing names it.
func (e *erasure) removeEmpty(ctx context.Context, every []*catalog.Table) error {
	months, err := e.Source.Months(ctx)
	if err != nil || len(every) == 0 {
		return err
	}
	for _, month := range months {
		if has, err := e.Source.Has(ctx, month, every[0].Tenant); err != nil || has {
			return err
		}
	}
	for _, t := range every {
		if err := t.RemoveEmpty(ctx, e.Store); err != nil {
			return err
		}
	}
	return nil
}

// takeOverOlder takes days in the form of an earlier release over into tables: those have none of a device that has
// left with its data. Jobs that read the device before it left make the same days again, as their marks are left again.
func (e *erasure) takeOverOlder(ctx context.Context) error {
	if err := e.Source.RenewMarks(ctx, e.month, schema.ArchiveMark, e.tenant); err != nil {
		return err
	}
	days, err := e.older.days(ctx, e.Store, e.tenant, e.month)
	if err != nil {
		return err
	}
	for _, day := range days {
		if e.Hold {
			return errors.New("the archive is in the form of an earlier release: once no process of that runs, have it taken " +
				"over by furrow config apply, and repeat this")
		}
		err := e.takeOver(ctx, TableDay{Tenant: e.tenant, Day: day, Month: e.month})
		if err != nil && !errors.Is(err, catalog.ErrForeign) {
			return err
		}
	}
	return e.older.erase(ctx, e.Store, e.tenant, e.devices)
}

// takeOver takes a day over into the tables. Of one that has only hours, storage has all rows: it may be open still.
func (e *erasure) takeOver(ctx context.Context, of TableDay) error {
	old, err := e.older.read(ctx, e.Tables, of)
	if err != nil || !old.has() {
		return errors.Join(err, old.delete(ctx))
	}
	return e.MakeDay(ctx, of)
}

// makeAgain makes the days again whose readings have devices, and those with reports of readings that were never
// committed.
func (e *erasure) makeAgain(ctx context.Context, every []*catalog.Table, reports []schema.Window) error {
	maker := &Tables{Contents: e.Contents, Source: e.Source, About: e.About, Settle: e.Settle, FileBytes: e.FileBytes,
		Summed: Summed{Rollups: e.Summed.Rollups, Reports: reports, By: e.Summed.By}}
	days, read := map[TableDay]bool{}, map[TableDay]tables.Ticks{}
	for d, err := range e.Readings(e.tenant).Days(ctx) {
		if err != nil {
			return err
		}
		read[TableDay{Tenant: e.tenant, Day: d.Date, Month: d.Month}] = d.Watermark
	}
	for _, t := range every {
		if kind, _, _ := sumsOf(t); kind != reportsKind {
			continue
		}
		for d, err := range t.Days(ctx) {
			if err != nil {
				return err
			}
			if of := (TableDay{Tenant: e.tenant, Day: d.Date, Month: d.Month}); read[of] != d.Watermark {
				days[of] = true
			}
		}
	}
	for f, err := range e.Readings(e.tenant).AllFiles(ctx) {
		if err != nil {
			return err
		}
		of := TableDay{Tenant: e.tenant, Day: f.Date, Month: f.Months[0]} // with all others that the file has
		if e.mayHave(f) && read[of] > 0 {                                 // an open day has no reports
			days[of] = true
		}
	}
	for day := range days {
		before, err := e.rowsOf(ctx, day)
		if err != nil {
			return err
		}
		if maker.formerBy, err = e.formerGroups(ctx, every, day.Day); err != nil {
			return err
		}
		if err := maker.MakeDay(ctx, day); err != nil && !errors.Is(err, catalog.ErrForeign) {
			return err
		}
		after, err := e.rowsOf(ctx, day)
		if err != nil {
			return err
		}
		if after < before {
			e.done.Rows, e.done.Files = e.done.Rows+before-after, e.done.Files+1
		}
	}
	return nil
}

// formerGroups returns the groups of a day's reports that are no longer configured. Only their files tell them.
func (e *erasure) formerGroups(ctx context.Context, every []*catalog.Table,
	day schema.Day) (all map[schema.Window][]schema.By, err error) {
	all = map[schema.Window][]schema.By{}
	for _, t := range every {
		kind, w, is := sumsOf(t)
		if !is || kind != reportsKind || slices.Contains(e.Summed.Reports, w) {
			continue
		}
		err := again(ctx, func() error {
			all[w], err = e.groupsOf(ctx, t, day)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// groupsOf returns the groups that a table of reports has on a day.
func (e *erasure) groupsOf(ctx context.Context, t *catalog.Table, day schema.Day) (all []schema.By, err error) {
	for f, err := range t.Files(ctx, day, day) {
		if err != nil {
			return nil, err
		}
		content, etag, err := e.Store.Get(ctx, t.Path(&f))
		if err == nil && etag == "" {
			err = fmt.Errorf("%w: file %s has gone", catalog.ErrStale, f.Name)
		}
		if err != nil {
			return nil, err
		}
		err = columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
			by, _ := row[0].(string)
			if !slices.Contains(all, schema.By(by)) {
				all = append(all, schema.By(by))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rowsOf returns how many readings the table has of a day.
func (e *erasure) rowsOf(ctx context.Context, of TableDay) (n int64, err error) {
	for f, err := range e.Readings(of.Tenant).Files(ctx, of.Day, of.Day) {
		if err != nil {
			return n, err
		}
		n += f.Stats.Rows
	}
	return n, nil
}

// mayHave reports whether a file may have rows of the devices.
func (e *erasure) mayHave(f catalog.File) bool {
	of, is := f.Stats.Ranges[columnar.Device]
	return is && slices.ContainsFunc(e.devices, func(d schema.DeviceID) bool {
		return string(d) >= of.Min && string(d) <= of.Max
	})
}

// eraseFrom erases the devices from one table.
func (e *erasure) eraseFrom(ctx context.Context, t *catalog.Table) (err error) {
	for found := true; err == nil && found; {
		found, err = e.erasePass(ctx, t)
	}
	if err == nil {
		err = t.Cleaner(e.Store).EndVersions(ctx)
	}
	if err = errors.Join(err, t.Cleaner(e.Store).Clean(ctx, 0)); errors.Is(err, catalog.ErrAbsent) {
		return nil
	}
	return err
}

// erasePass erases devices from all files that the table has, and reports whether one had any of their rows, or was
// replaced meanwhile: then another pass looks for what came.
func (e *erasure) erasePass(ctx context.Context, t *catalog.Table) (found bool, err error) {
	for f, err := range t.AllFiles(ctx) {
		if err != nil {
			return found, err
		}
		if !e.mayHave(f) {
			continue
		}
		err := again(ctx, func() error {
			gone, replaced, err := e.eraseFile(ctx, t, f)
			if found = found || replaced; gone > 0 {
				found, e.done.Rows, e.done.Files = true, e.done.Rows+gone, e.done.Files+1
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
func (e *erasure) eraseFile(ctx context.Context, t *catalog.Table,
	of catalog.File) (gone int64, replaced bool, err error) {
	s, err := t.Begin(ctx, of.Date)
	if err != nil {
		return 0, false, err
	}
	i := slices.IndexFunc(s.Files, func(f catalog.File) bool { return f.Name == of.Name })
	if i < 0 {
		return 0, true, nil
	}
	copied := e.readingsWithout
	if _, _, is := sumsOf(t); is {
		copied = e.rollupsWithout
	}
	gone, made, err := copied(ctx, t, s.Files[i])
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
	if n := slices.Index(of.Months, e.month); n > 0 { // a file of several partitions was counted in the first
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
func (e *erasure) readingsWithout(ctx context.Context, t *catalog.Table,
	f catalog.File) (gone int64, made []catalog.File, err error) {
	g := &readingsMaking{Tables: e.Tables, table: t, gone: []catalog.File{f}, months: f.Months,
		of: TableDay{Tenant: t.Tenant, Day: f.Date, Month: f.Months[0]}}
	from := &pastFile{File: f}
	defer from.close()
	if err := from.open(ctx, g); err != nil {
		return 0, nil, err
	}
	series := from.reader.Series
	var to *readingsFile
	for ; err == nil && from.ahead != nil; err = from.advance() {
		one := from.ahead
		if slices.Contains(e.devices, one.Device) {
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
func (e *erasure) rollupsWithout(ctx context.Context, t *catalog.Table,
	f catalog.File) (gone int64, made []catalog.File, err error) {
	a := &sumTable{kind: rollupsKind, table: t, store: e.Store, day: f.Date}
	for _, name := range f.Columns {
		a.about = append(a.about, columnar.NamedSeries{Name: name})
	}
	content, etag, err := e.Store.Get(ctx, t.Path(&f))
	if err != nil {
		return 0, nil, err
	}
	if etag == "" {
		return 0, nil, fmt.Errorf("%w: file %s has gone", catalog.ErrStale, f.Name)
	}
	err = columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
		device, _ := row[0].(string)
		if slices.Contains(e.devices, schema.DeviceID(device)) {
			gone++
			return nil
		}
		at, _ := row[1].(int64)
		for i, v := range row {
			if v == nil {
				row[i] = ""
			}
		}
		return a.write(ctx, device, time.UnixMicro(at), row)
	})
	if err == nil {
		err = a.put(ctx)
	}
	return gone, a.made, err
}
