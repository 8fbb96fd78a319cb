package archive

import (
	"context"
	"errors"
	"slices"

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

// EraseReadings erases readings of devices from a tenant's table of readings, and ends the table's earlier versions.
// Nobody may be able to read them from storage any more: whoever makes a day again does not put them back. Repeated, it
// does what is left.
func (m *Tables) EraseReadings(ctx context.Context, tenant schema.Tenant, devices ...schema.DeviceID) (all Erased,
	err error) {
	t := m.Readings(tenant)
	err = t.RaiseEpoch(ctx)
	for found := true; err == nil && found; {
		found, err = m.erasePass(ctx, t, devices, &all)
	}
	if errors.Is(err, catalog.ErrAbsent) {
		return all, nil
	}
	if err == nil {
		err = t.EndVersions(ctx, m.Store, m.Store)
	}
	if err == nil {
		err = t.Clean(ctx, m.Store)
	}
	return all, err
}

// erasePass erases devices from all files that the table has, and reports whether one had any of their readings: then
// another pass looks for what came meanwhile.
func (m *Tables) erasePass(ctx context.Context, t *catalog.Table, devices []schema.DeviceID, all *Erased) (bool, error) {
	found := false
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
			if gone, err = m.eraseFile(ctx, t, f, devices); !errors.Is(err, catalog.ErrStale) {
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

// eraseFile puts a file without devices in place of one that the table has, and returns how many readings those had in
// it.
func (m *Tables) eraseFile(ctx context.Context, t *catalog.Table, of catalog.File, devices []schema.DeviceID) (gone int64,
	err error) {
	s, err := t.Begin(ctx, of.Date)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(s.Files, func(f catalog.File) bool { return f.Name == of.Name })
	if i < 0 {
		return 0, nil // replaced meanwhile: the next pass sees what by
	}
	g := &readingsMaking{Tables: m, table: t, gone: s.Files[i : i+1],
		of: TableDay{Tenant: t.Tenant, Day: of.Date, Month: of.Months[0]}}
	defer g.past.close()
	if gone, err = g.copyWithout(ctx, devices); err != nil || gone == 0 {
		return 0, errors.Join(err, t.Abandon(context.WithoutCancel(ctx), g.made))
	}
	for i := range g.made {
		g.made[i].Months = of.Months
	}
	c := &catalog.Change{Why: "erased", Gone: g.gone, New: g.made, Erases: true}
	for _, month := range of.Months {
		d := s.Day(month)
		if len(of.Months) == 1 {
			d.Rows -= gone
		}
		c.Days = append(c.Days, d)
	}
	if _, err = t.Commit(ctx, s, c); err != nil {
		err = errors.Join(err, t.Abandon(context.WithoutCancel(ctx), g.made))
	}
	return gone, err
}

// copyWithout writes the readings of a file that are not of devices into another, and counts those that are.
func (g *readingsMaking) copyWithout(ctx context.Context, devices []schema.DeviceID) (gone int64, err error) {
	if err := g.past.reset(); err != nil {
		return 0, err
	}
	if err := g.past.open(ctx, g, &g.gone[0]); err != nil {
		return 0, err
	}
	var to *tableFile
	for ; g.past.ahead != nil; err = g.past.advance() {
		if err != nil {
			return 0, err
		}
		one := g.past.ahead
		if slices.Contains(devices, one.Device) {
			gone++
			continue
		}
		if to, err = g.fileFor(ctx, to, one.Device, g.past.reader.Series); err != nil {
			return 0, err
		}
		if err := to.to.Write(string(one.Device), one.About, &one.Sample); err != nil {
			return 0, err
		}
	}
	if err != nil {
		return 0, err
	}
	return gone, g.end(ctx, to)
}
