package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

var _ groups.Grouping = (*Tables)(nil)

// Settings returns the columns about devices, rollups and reports: where they change, everything is made again.
func (m *Tables) Settings() string {
	settings := "2,"
	if m.Hold {
		settings = "1," // those of an earlier release, whose workers make the files
	}
	settings += strings.Join(m.About, ",")
	if len(m.Summed.Rollups) > 0 {
		settings += fmt.Sprint(";", m.Summed)
	}
	return settings
}

// All yields a mark for every day that the archive has of a partition, and those that there are: a job that has read
// one of these, and stands still, can delete it no more. It yields none twice.
func (m *Tables) All(ctx context.Context, _ *groups.Source, month schema.Month) iter.Seq2[schema.Mark, error] {
	return func(yield func(schema.Mark, error) bool) {
		if m.Hold {
			return
		}
		there := map[string]bool{}
		for mark, err := range m.Source.Marks(ctx, month, schema.ArchiveMark) {
			if !yield(mark, err) || err != nil {
				return
			}
			there[mark.Key()] = true
		}
		for d, err := range m.Days(ctx, month) {
			if mark := d.mark(); err == nil && there[mark.Key()] {
				continue
			}
			if !yield(d.mark(), err) || err != nil {
				return
			}
		}
	}
}

// Make makes what the marks of a day or hour ask for, once that is over. A day that is over needs no hours: there is a
// mark of the day, too.
func (m *Tables) Make(ctx context.Context, marks []schema.Mark) error {
	if m.Hold {
		return groups.ErrWaits
	}
	if name, _, _ := strings.Cut(marks[0].Name, schema.Separator); name == cleanMark {
		return m.cleanDue(ctx, marks[0])
	} else if strings.HasPrefix(name, mergeMark) {
		return m.mergeDue(ctx, marks[0])
	}
	d, asked, err := askedBy(marks)
	if err != nil {
		return fmt.Errorf("%w: mark of the archive: %w", groups.ErrUnmakeable, err)
	}
	if !retain.KeepOfTenant(m.Source.Keep, d.Tenant).KeepsDay(d.Day, asked.Now) {
		return m.older.delete(ctx, m.Store, d)
	}
	if d.Hour > 0 && (!m.Hourly || m.Closed(d.whole(), asked.Now)) {
		return nil
	}
	if _, known := m.known.Load(d.Tenant); !known {
		if has, err := m.Source.Has(ctx, d.Month, d.Tenant); err != nil || !has {
			return err // the tenant has gone
		}
	}
	if err := m.create(ctx, d.Tenant); err != nil && !errors.Is(err, catalog.ErrForeign) {
		return made(err)
	}
	if !m.Closed(d, asked.Now) {
		return groups.ErrNotYet
	}
	if m.waiting.has(d, asked.Now) {
		return groups.ErrWaits
	}
	due, err := m.due(ctx, d, asked)
	if err == nil && due > asked.Now {
		m.waiting.note(d, due)
		return groups.ErrWaits
	}
	if err == nil {
		err = m.MakeDay(ctx, d, asked.devices...)
		if errors.Is(err, catalog.ErrAbsent) { // its tables were removed since this process has found them
			m.known.Delete(d.Tenant)
			return m.Make(ctx, marks)
		}
	}
	return made(err)
}

// made returns what an error says about marks. A log that another program writes into stops no archive, and a damaged
// file no other day.
func made(err error) error {
	switch {
	case errors.Is(err, catalog.ErrForeign):
		return fmt.Errorf("%w: %w", groups.ErrMade, err)
	case errors.Is(err, catalog.ErrStale), errors.Is(err, catalog.ErrRefused), errors.Is(err, schema.ErrNewer),
		errors.Is(err, errDamaged):
		return fmt.Errorf("%w: %w", groups.ErrUnmakeable, err)
	}
	return err
}

// An asking is what marks that stand together ask for.
type asking struct {
	all     bool              // whatever device it is about
	devices []schema.DeviceID // nil: all
	newest  tables.Ticks      // when the last of them was left
	Now     tables.Ticks      // of the service
}

// askedBy returns what marks are about, and what they ask for.
func askedBy(marks []schema.Mark) (d TableDay, a asking, err error) {
	a.Now = marks[0].Read
	for _, m := range marks {
		part, err := m.Archive()
		if err != nil {
			return d, a, err
		}
		d = TableDay{Tenant: m.Tenant, Day: part.Day, Hour: Hour(part.Hour), Month: m.Month}
		a.all, a.newest = a.all || part.Device == "", max(a.newest, m.At)
		a.devices = append(a.devices, part.Device)
	}
	if a.all {
		a.devices = nil
	}
	return d, a, nil
}

// When late rows are taken in.
const (
	replaceAfter = time.Hour        // at most so often: each time, all of a day may be read and written
	importAfter  = 10 * time.Minute // or so often, where they are many
	quiet        = 2 * time.Minute  // once no more of them have come for so long: an import makes each day once
)

// due returns when what is asked for can be made: at once, if it is the whole of it, or soon after its end. Late rows
// wait until nothing has changed for an hour; a third of the day's rows or more wait only until no more come.
func (m *Tables) due(ctx context.Context, d TableDay, asked asking) (tables.Ticks, error) {
	_, to := d.Times()
	if asked.all || m.Quiet < 0 {
		return 0, nil
	}
	has, last, err := m.taken(ctx, d)
	if err != nil {
		return 0, err
	}
	calm := asked.newest.Add(cmp.Or(m.Quiet, quiet))
	if calm > asked.Now.Add(2*cmp.Or(m.Quiet, quiet)) {
		calm = 0 // a clock was ahead when the mark was left
	}
	if last == 0 { // it was never made
		if asked.Now < to.Add(m.CloseAfter)+tables.Day {
			return 0, nil
		}
		return calm, nil
	}
	again := last.Add(cmp.Or(m.Replace, replaceAfter))
	if again <= asked.Now || last > asked.Now { // or a clock was ahead when it was made
		return 0, nil
	}
	counted, err := m.counted(ctx, d)
	if err != nil {
		return 0, err
	}
	if 3*counted >= 4*has {
		again = min(again, max(calm, last.Add(importAfter)))
	}
	return again, nil
}

// taken returns how many rows the table has of a day or hour, and when the last of them were taken in. A day may share
// files with those of other partitions: they are made again with others, and have rows of others.
func (m *Tables) taken(ctx context.Context, d TableDay) (has int64, last tables.Ticks, err error) {
	if d.Hour == 0 {
		of, err := m.Readings(d.Tenant).Day(ctx, d.Day, d.Month)
		return of.Rows, of.Taken, err
	}
	for f, err := range m.Readings(d.Tenant).Files(ctx, d.Day, d.Day) {
		if err != nil {
			return 0, 0, err
		}
		if d.has(&f) {
			has += f.Stats.Rows
			last = max(last, tables.TicksOf(time.UnixMilli(f.Modified)))
		}
	}
	return has, last, nil
}

// counted returns how many rows there are of a day or hour according to the ledger.
func (m *Tables) counted(ctx context.Context, d TableDay) (n int64, err error) {
	for rows, err := range m.Stored(d).Counts(ctx) {
		if err != nil {
			return 0, err
		}
		n += rows
	}
	return n, nil
}

// Remake makes a day or hour again. It leaves a mark while it does, as jobs have one.
func (m *Tables) Remake(ctx context.Context, d TableDay) error {
	return m.Source.WithMark(ctx, d.mark(), func() error { return m.MakeDay(ctx, d) })
}

// create makes the tables of a tenant, unless it was found that they are there. ErrForeign comes once all are there.
func (m *Tables) create(ctx context.Context, tenant schema.Tenant) error {
	if _, known := m.known.Load(tenant); known {
		return nil
	}
	all := m.Sums(tenant)
	for i, t := range append(all, m.Readings(tenant)) {
		columns := readingsColumns()
		if i < len(all) {
			kind, _, _ := sumsOf(t)
			columns = sumColumns(kind)
		}
		if err := t.Create(ctx, columns); err != nil {
			return err
		}
	}
	if err := m.publish(ctx, tenant); err != nil {
		return err
	}
	m.known.Store(tenant, nil)
	return nil
}

// publish publishes the tables of a tenant. ErrForeign comes once all others are published.
func (m *Tables) publish(ctx context.Context, tenant schema.Tenant) (foreign error) {
	for _, t := range append(m.Sums(tenant), m.Readings(tenant)) {
		_, err := t.Log(m.Store).Publish(ctx)
		if err != nil && !errors.Is(err, catalog.ErrForeign) {
			return err
		}
		foreign = cmp.Or(foreign, err)
	}
	return foreign
}

// cleanMark is the name of the mark that has a tenant's tables cleaned. It stays as it is until then, or a tenant
// whose days change daily would wait for ever. What changes meanwhile leaves another one beside it: it stays if a job
// has just cleaned that had read it before.
const (
	cleanMark = "clean"
	cleanNext = cleanMark + schema.Separator + "next"
)

// cleanAfter is when they are: what left them a moment after the mark was there is due, too.
const cleanAfter = tables.Day + 2*tables.Hour

// cleanDue cleans a tenant's tables a day after something has left them, and again where something is left over.
func (m *Tables) cleanDue(ctx context.Context, mark schema.Mark) error {
	if mark.Read < mark.At+cleanAfter {
		return groups.ErrNotYet
	}
	left, err := m.Clean(ctx, mark.Tenant)
	if err == nil && left {
		mark.Name = cleanMark
		_, err = m.Source.Tracking().Do(ctx, tables.InsertOrReplace(mark.Entity()))
	}
	return made(err)
}

// markClean leaves the mark that has a tenant's tables cleaned.
func (m *Tables) markClean(ctx context.Context, d TableDay) error {
	mark := schema.Mark{Month: d.Month, Kind: schema.ArchiveMark, Tenant: d.Tenant, Name: cleanMark}
	_, err := m.Source.Tracking().Do(ctx, tables.Insert(mark.Entity()))
	if errors.Is(err, tables.ErrExists) {
		mark.Name = cleanNext
		_, err = m.Source.Tracking().Do(ctx, tables.InsertOrReplace(mark.Entity()))
	}
	if errors.Is(err, tables.ErrNoTable) {
		err = nil // no job of the pipeline ever ran, or ever will
	}
	return err
}
