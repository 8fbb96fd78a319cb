package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

var _ groups.Grouping = (*Days)(nil)

// Grouping returns what makes the Parquet files that the marks of a pipeline ask for.
func (c *Config) Grouping(p *groups.Source) (schema.MarkKind, groups.Grouping) {
	store, is := p.Objects.(*Store)
	if !is || c.Format != Parquet {
		return schema.ArchiveMark, nil
	}
	return schema.ArchiveMark, c.Days(p, store)
}

// Settings returns the columns about devices, rollups and reports: where they change, every file is made again.
func (d *Days) Settings() string {
	settings := "1," + strings.Join(d.About, ",")
	if len(d.Summed.Rollups) > 0 {
		settings += fmt.Sprint(";", d.Summed)
	}
	return settings
}

// All yields a mark for every day and hour that the archive has of a partition.
func (d *Days) All(ctx context.Context, m schema.Month) iter.Seq2[schema.Mark, error] {
	return func(yield func(schema.Mark, error) bool) {
		for f, err := range d.Store.Folders(ctx, "") {
			if err == nil && f.Month != m {
				continue
			}
			if !yield(f.mark(), err) {
				return
			}
		}
	}
}

// Make makes the files that a mark asks for, once their day or hour is over. A day that is over needs no hours: there
// is a mark of the day, too.
func (d *Days) Make(ctx context.Context, m schema.Mark) error {
	part, err := m.Archive()
	if err != nil {
		return fmt.Errorf("%w: mark of the archive: %w", groups.ErrUnmakeable, err)
	}
	if !retain.KeepOfTenant(d.Source.Keep, m.Tenant).KeepsDay(part.Day, m.Read) {
		return nil
	}
	f := Folder{Tenant: m.Tenant, Day: part.Day, Hour: Hour(part.Hour), Month: m.Month}
	if f.Hour > 0 && (!d.Hourly || d.Closed(f.day(), m.Read)) {
		return nil
	}
	if !d.Closed(f, m.Read) || d.waits(f, m.Read) {
		return groups.ErrNotYet
	}
	_, err = d.MakeDay(ctx, f, Asked{Device: part.Device, Since: m.At, Now: m.Read})
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, groups.ErrNotYet):
		return err
	case errors.Is(err, errTaken) || errors.Is(err, schema.ErrNewer) || errors.Is(err, errMissing):
		return fmt.Errorf("%w: %w", groups.ErrUnmakeable, err)
	}
	return err
}

// Closed reports whether a day or hour is over, and its files can be made.
func (d *Days) Closed(f Folder, now tables.Ticks) bool {
	_, to := f.Times()
	return to.Add(d.CloseAfter) <= now
}

// Late rows replace a file at most so often: each time, all of it is read and written.
const (
	replaceAfter = time.Hour
	replaceLate  = 24 * time.Hour     // once its day is longer over than
	lateAfter    = 2 * 24 * time.Hour // this
)

// replaced returns when a file may be replaced.
func (d *Days) replaced(v *version, day schema.Day, now tables.Ticks) tables.Ticks {
	if v == nil || now == 0 {
		return 0
	}
	after := replaceAfter
	if now > end(day).Add(lateAfter) {
		after = replaceLate
	}
	return tables.TicksOf(v.made).Add(cmp.Or(d.Replace, after))
}

// wait notes that the files of a folder are too young to be replaced, so that other marks of it cost nothing.
func (d *Days) wait(f Folder, until tables.Ticks) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil || len(d.waiting) > 10_000 {
		d.waiting = map[Folder]tables.Ticks{}
	}
	d.waiting[f] = until
}

func (d *Days) waits(f Folder, now tables.Ticks) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting[f] > now
}
