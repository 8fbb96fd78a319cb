package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Days makes the Parquet files of tenants' days, and of the hours of days that are still open.
type Days struct {
	Store  *Store
	Source *groups.Source
	About  About
	Summed Summed
	// Hourly asks for files of hours until the day's are made. They have no rollups and reports.
	Hourly bool
	// CloseAfter is how long after its end a day or an hour stays open.
	CloseAfter time.Duration
	// Settle is how long a row may take to become visible to everybody.
	Settle time.Duration
	// FileBytes is about how large a file becomes; zero means 128 MiB.
	FileBytes int
	// Replace is how old a file is before late rows replace it. Zero means an hour, and a day once its day is over for
	// two; a negative Replace no time.
	Replace time.Duration

	mu      sync.Mutex
	waiting map[Folder]tables.Ticks // when files may be replaced again
}

// Asked is what of a day has to be made.
//
// A file does not say up to when it is complete: clocks are wrong now and then. Whoever makes what marks ask for has
// read them all before, and deletes them afterwards.
type Asked struct {
	Devices []schema.DeviceID // the files with these; nil: all files
	Now     tables.Ticks      // of the service: files that are too young stay; 0: none is
}

// MakeDay makes the files of a day or hour that are missing or asked for, and the manifest last. The files of a day
// replace those of its hours, which are deleted then. Repeated, by anybody and at
// any time, it does what is left.
func (d *Days) MakeDay(ctx context.Context, f Folder, asked Asked) (*Manifest, error) {
	m, err := d.make(ctx, f, asked)
	if err != nil {
		return nil, fmt.Errorf("archive %s/%s, partition %s: %w", d.Store.name, f, f.Month, err)
	}
	return m, nil
}

// Remake makes all files of a day or hour again. It leaves a mark while it does, as jobs have one.
func (d *Days) Remake(ctx context.Context, f Folder) (m *Manifest, err error) {
	err = d.Source.WithMark(ctx, f.mark(), func() (err error) {
		m, err = d.MakeDay(ctx, f, Asked{})
		return err
	})
	return m, err
}

// Empty reports whether a folder would be made of nothing: it was never made, and no device has readings in it.
func (d *Days) Empty(ctx context.Context, f Folder) (bool, error) {
	if has, err := d.Store.Has(ctx, f); err != nil || has {
		return false, err
	}
	day := d.Readings(f)
	for _, err := range day.Readings(ctx, "", "", func(tables.Ticks) {}) {
		return false, err
	}
	return true, nil
}

func (d *Days) make(ctx context.Context, f Folder, asked Asked) (*Manifest, error) {
	day := d.Readings(f)
	from, err := d.ranges(ctx, f, day)
	if err != nil {
		return nil, err
	}
	columns, err := d.expected(ctx, f)
	if err != nil {
		return nil, err
	}
	files, young, err := d.asked(ctx, f, asked, from)
	if err != nil {
		return nil, err
	}
	used := columnar.Columns{}
	for _, file := range files {
		file.day, file.columns = day, columns
		has, err := file.write(ctx)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", file.name, err)
		}
		used.Join(has)
	}
	m, err := d.describe(ctx, f, from, used, len(files) == len(from))
	if err == nil {
		err = d.replaceHours(ctx, f)
	}
	if err == nil && young {
		return nil, groups.ErrNotYet
	}
	return m, err
}

// asked returns the files that are missing or asked for. Where one that is asked for is too young to be replaced, it
// returns those that are missing: the others are made together once it is old enough.
func (d *Days) asked(ctx context.Context, f Folder, asked Asked, from []schema.DeviceID) (missing []*dayFile,
	young bool, err error) {
	var due []*dayFile
	var later tables.Ticks
	for n, first := range from {
		file := &dayFile{store: d.Store, name: f.file(n), folder: f, number: n, about: d.About, summed: d.summed(f),
			settle: d.Settle, first: first}
		if n+1 < len(from) {
			file.before = from[n+1]
		}
		found, err := file.complete(ctx)
		switch {
		case err != nil:
			return nil, false, err
		case found == nil:
			missing = append(missing, file)
		case asked.of(file):
			due = append(due, file)
			later = max(later, d.replaced(found, f.Day, asked.Now))
		}
	}
	if later > asked.Now && asked.Now > 0 {
		d.wait(f, later)
		return missing, true, nil
	}
	return append(missing, due...), false, nil
}

// of reports whether a file is asked for.
func (a Asked) of(f *dayFile) bool {
	return a.Devices == nil || slices.ContainsFunc(a.Devices, func(d schema.DeviceID) bool {
		return d >= f.first && (f.before == "" || d < f.before)
	})
}

// summed returns the files that there are beside the readings of a folder.
func (d *Days) summed(f Folder) Summed {
	if f.Hour > 0 {
		return Summed{}
	}
	return d.Summed
}

// expected returns the columns that the readings of a folder probably need: those of the files that are replaced, or of
// the folder before.
func (d *Days) expected(ctx context.Context, f Folder) (columnar.Columns, error) {
	m, _, err := d.Store.manifest(ctx, f)
	if err == nil && m == nil {
		m, _, err = d.Store.manifest(ctx, f.before())
	}
	if err != nil || m == nil {
		return columnar.Columns{}, err
	}
	return m.Expect, nil
}

// describe writes the manifest, unless it says already what there is. Used are columns that new files have, and whole
// says that all are new.
func (d *Days) describe(ctx context.Context, f Folder, from []schema.DeviceID, used columnar.Columns,
	whole bool) (*Manifest, error) {
	var last error
	for try := range tries {
		m, done, err := d.describeOnce(ctx, f, from, used, whole)
		if err == nil && done {
			return m, nil
		}
		if err != nil && refused(err) {
			return nil, err
		}
		last = err
		if err := commit.Pause(ctx, try); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the manifest, after %d tries: %w", tries, last)
}

func (d *Days) describeOnce(ctx context.Context, f Folder, from []schema.DeviceID, used columnar.Columns,
	whole bool) (*Manifest, bool, error) {
	old, etag, err := d.Store.manifest(ctx, f)
	if err != nil {
		return nil, false, err
	}
	m := &Manifest{Format: manifestFormat, Expect: used}
	m.Expect.About = nil
	if old != nil && !whole { // files that were not replaced may still have those
		m.Expect.Join(old.Expect)
	}
	for n, first := range from {
		before := schema.DeviceID("")
		if n+1 < len(from) {
			before = from[n+1]
		}
		for _, one := range append(d.summed(f).names(f, n), aggregates{name: f.file(n)}) {
			file, err := d.Store.file(ctx, one.name)
			if err != nil {
				return nil, false, err
			}
			if file.First, file.Before = first, before; one.window != 0 {
				file.Window = one.window.String()
			}
			to := m.of(one.kind)
			*to = append(*to, *file)
		}
	}
	m.sum()
	if old != nil && old.same(m) {
		return old, true, nil
	}
	if err := d.Store.dropped(ctx, old, m); err != nil {
		return nil, false, err
	}
	err = d.Store.putJSON(ctx, f.manifest(), etag, m)
	return m, err == nil, err
}

// errMissing says that a file of a day is gone.
var errMissing = errors.New("it is missing")

// file returns what the metadata of a file say.
func (s *Store) file(ctx context.Context, name string) (*File, error) {
	found, err := s.look(ctx, name)
	if err == nil && found == nil {
		err = errMissing
	}
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, err)
	}
	file := &File{Name: name, Bytes: found.bytes, SHA256: found.metadata[metaHash], Made: found.made.UTC()}
	var errs [3]error
	file.Readings, errs[0] = found.number(metaReadings)
	file.Rows, errs[1] = found.number(metaRows)
	watermark, err := found.number(metaWatermark)
	errs[2], file.Watermark = err, tables.Ticks(watermark).Time()
	return file, errors.Join(errs[:]...)
}
