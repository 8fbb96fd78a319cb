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
	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// Erased is what an erasure has done to a table.
type Erased struct {
	Rows  int64 // readings that are gone
	Files int   // that were replaced or removed
}

// Erase erases devices from a tenant's tables, and ends the tables' earlier versions. Nobody may be able to read them
// from storage any more: whoever makes a day again does not put them back. Repeated, it does what is left. Reports have
// no devices: those of days that had some are made again.
func (m *Tables) Erase(ctx context.Context, tenant schema.Tenant, devices ...schema.DeviceID) (all Erased, err error) {
	days := map[TableDay]bool{}
	copyReadings := func(ctx context.Context, t *catalog.Table, f catalog.File) (int64, []catalog.File, error) {
		days[TableDay{Tenant: tenant, Day: f.Date, Month: f.Months[0]}] = true
		return m.readingsWithout(ctx, t, f, devices)
	}
	if err := m.eraseFrom(ctx, m.Readings(tenant), devices, copyReadings, &all); err != nil {
		return all, err
	}
	for i, t := range m.Sums(tenant) {
		if i >= len(m.Summed.Rollups) {
			break
		}
		copyRollups := func(ctx context.Context, t *catalog.Table, f catalog.File) (int64, []catalog.File, error) {
			return m.rollupsWithout(ctx, t, f, devices)
		}
		if err := m.eraseFrom(ctx, t, devices, copyRollups, &Erased{}); err != nil {
			return all, err
		}
	}
	if len(m.Summed.Reports) == 0 {
		return all, nil
	}
	for day := range days {
		if err := m.MakeDay(ctx, day); err != nil {
			return all, err
		}
	}
	return all, nil
}

// without copies a file without devices, and returns how many rows of theirs it had.
type without func(ctx context.Context, t *catalog.Table, f catalog.File) (gone int64, made []catalog.File, err error)

// eraseFrom erases devices from one table.
func (m *Tables) eraseFrom(ctx context.Context, t *catalog.Table, devices []schema.DeviceID, copied without,
	all *Erased) error {
	err := t.RaiseEpoch(ctx)
	for found := true; err == nil && found; {
		found, err = m.erasePass(ctx, t, devices, copied, all)
	}
	if errors.Is(err, catalog.ErrAbsent) {
		return nil
	}
	if err == nil {
		err = t.EndVersions(ctx, m.Store, m.Store)
	}
	if err == nil {
		err = t.Clean(ctx, m.Store)
	}
	return err
}

// erasePass erases devices from all files that the table has, and reports whether one had any of their rows: then
// another pass looks for what came meanwhile.
func (m *Tables) erasePass(ctx context.Context, t *catalog.Table, devices []schema.DeviceID, copied without,
	all *Erased) (found bool, err error) {
	for f, err := range t.Files(ctx, 0, schema.DayOf(tables.MaxTicks)-1) {
		if err != nil {
			return found, err
		}
		of := f.Stats.Ranges[columnar.Device]
		if !slices.ContainsFunc(devices, func(d schema.DeviceID) bool { return string(d) >= of.Min && string(d) <= of.Max }) {
			continue
		}
		for try := range commit.Tries {
			var gone int64
			if gone, err = m.eraseFile(ctx, t, f, copied); !errors.Is(err, catalog.ErrStale) {
				if found = found || gone > 0; gone > 0 {
					all.Rows, all.Files = all.Rows+gone, all.Files+1
				}
				break
			}
			if err := commit.Pause(ctx, try); err != nil {
				return found, err
			}
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// eraseFile puts a copy in place of a file that the table has, and returns how many rows were left out.
func (m *Tables) eraseFile(ctx context.Context, t *catalog.Table, of catalog.File, copied without) (gone int64,
	err error) {
	s, err := t.Begin(ctx, of.Date)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(s.Files, func(f catalog.File) bool { return f.Name == of.Name })
	if i < 0 {
		return 0, nil // replaced meanwhile: the next pass sees what by
	}
	gone, made, err := copied(ctx, t, s.Files[i])
	if err != nil || gone == 0 {
		return 0, errors.Join(err, t.Abandon(context.WithoutCancel(ctx), made))
	}
	for i := range made {
		made[i].Months = of.Months
	}
	c := &catalog.Change{Why: "erased", Gone: s.Files[i : i+1], New: made, Erases: true}
	for _, month := range of.Months {
		d := s.Day(month)
		if len(of.Months) == 1 {
			d.Rows -= gone
		}
		c.Days = append(c.Days, d)
	}
	if _, err = t.Commit(ctx, s, c); err != nil {
		err = errors.Join(err, t.Abandon(context.WithoutCancel(ctx), made))
	}
	return gone, err
}

// readingsWithout copies a file of readings.
func (m *Tables) readingsWithout(ctx context.Context, t *catalog.Table, f catalog.File,
	devices []schema.DeviceID) (gone int64, made []catalog.File, err error) {
	g := &readingsMaking{Tables: m, table: t, gone: []catalog.File{f},
		of: TableDay{Tenant: t.Tenant, Day: f.Date, Month: f.Months[0]}}
	defer g.past.close()
	if err := errors.Join(g.past.reset(), g.past.open(ctx, g, &f)); err != nil {
		return 0, nil, err
	}
	var to *tableFile
	for ; err == nil && g.past.ahead != nil; err = g.past.advance() {
		one := g.past.ahead
		if slices.Contains(devices, one.Device) {
			gone++
			continue
		}
		if to, err = g.fileFor(ctx, to, one.Device, g.past.reader.Series); err != nil {
			return 0, g.made, err
		}
		if err := to.to.Write(string(one.Device), one.About, &one.Sample); err != nil {
			return 0, g.made, err
		}
	}
	if err == nil {
		err = g.end(ctx, to)
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
