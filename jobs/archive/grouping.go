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

// Make makes the files that the marks of a day or hour ask for, once that is over. A day that is over needs no hours:
// there is a mark of the day, too.
func (d *Days) Make(ctx context.Context, marks []schema.Mark) error {
	f, asked, err := askedBy(marks)
	if err != nil {
		return fmt.Errorf("%w: mark of the archive: %w", groups.ErrUnmakeable, err)
	}
	if !retain.KeepOfTenant(d.Source.Keep, f.Tenant).KeepsDay(f.Day, asked.Now) {
		return nil
	}
	if f.Hour > 0 && (!d.Hourly || d.Closed(f.day(), asked.Now)) {
		return nil
	}
	if !d.Closed(f, asked.Now) || d.waits(f, asked.Now) {
		return groups.ErrNotYet
	}
	_, err = d.MakeDay(ctx, f, asked)
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, groups.ErrNotYet):
		return err
	case errors.Is(err, errTaken) || errors.Is(err, schema.ErrNewer) || errors.Is(err, errMissing):
		return fmt.Errorf("%w: %w", groups.ErrUnmakeable, err)
	}
	return err
}

// askedBy returns the folder of marks, and what they ask for.
func askedBy(marks []schema.Mark) (f Folder, asked Asked, err error) {
	asked = Asked{Devices: []schema.DeviceID{}, Now: marks[0].Read}
	for _, m := range marks {
		part, err := m.Archive()
		if err != nil {
			return f, asked, err
		}
		f = Folder{Tenant: m.Tenant, Day: part.Day, Hour: Hour(part.Hour), Month: m.Month}
		if asked.Devices = append(asked.Devices, part.Device); part.Device == "" {
			return f, Asked{Now: asked.Now}, nil
		}
	}
	return f, asked, nil
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

// replaced returns when a file may be replaced. One of the future may be at once: a clock was ahead when it was made.
func (d *Days) replaced(v *version, day schema.Day, now tables.Ticks) tables.Ticks {
	made := tables.TicksOf(v.made)
	if now == 0 || made > now.Add(replaceAfter) {
		return 0
	}
	after := replaceAfter
	if now > end(day).Add(lateAfter) {
		after = replaceLate
	}
	return made.Add(cmp.Or(d.Replace, after))
}

// wait notes that the files of a folder are too young to be replaced, so that other jobs find that out for nothing.
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
	until := d.waiting[f]
	return until > now && until <= now.Add(replaceAfter+replaceLate) // unless a clock was ahead when it was noted
}
