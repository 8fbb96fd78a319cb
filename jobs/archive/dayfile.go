package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

const parquetFile = "application/vnd.apache.parquet"

// Metadata of a Parquet file, besides those of every object. With them, a manifest can be made from the files.
const (
	metaRows      = "rows"
	metaHash      = "sha256"
	metaWatermark = "watermark" // in ticks
)

// A dayFile is one file of a day while it is made.
type dayFile struct {
	store  *Store
	name   string
	folder Folder
	number int
	day    groups.TenantDay
	about  About
	summed Summed
	// settle is how long a row may take to become visible to everybody.
	settle        time.Duration
	first, before schema.DeviceID
	columns       columnar.Columns // that readings are expected to need; those that they need are added
	// cleanse makes the file of its last version alone, without devices that have left the fleet and whose data
	// is not kept.
	cleanse bool
}

// errTaken says that another job has replaced the file meanwhile.
var errTaken = errors.New("another job has replaced it")

// write reads the readings and puts the file in its place, on the version that it had before they were read, after
// those of rollups and reports. It repeats this while other jobs replace files, and reads twice if it meets a sensor
// that it did not expect.
func (f *dayFile) write(ctx context.Context) (used columnar.Columns, err error) {
	for try := range tries {
		etag := azcore.ETag("")
		found, err := f.store.look(ctx, f.name)
		if err != nil {
			return used, err
		}
		if found != nil {
			etag = found.etag
		} else if f.cleanse {
			return used, nil
		}
		sums, err := f.begin(ctx)
		if err != nil {
			return used, err
		}
		b, w, err := f.fill(ctx, found, sums)
		if errors.Is(err, errTaken) {
			continue
		}
		if err != nil {
			return used, err
		}
		if w == nil {
			continue // with the columns that were missing
		}
		if used = w.Used(); f.columns.Long && !used.Long {
			f.columns = used
			continue
		}
		if err = sums.place(ctx); err == nil {
			err = b.place(ctx, etag)
		}
		if !errors.Is(err, errTaken) {
			return used, err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return used, err
		}
	}
	return used, errTaken
}

// fill reads the readings once, and writes them into a body. It returns no Writer if the columns did not fit: now they
// do. It takes over from the version that it will replace what retention may have deleted, and returns errTaken if
// retention has begun with another device meanwhile.
func (f *dayFile) fill(ctx context.Context, old *version, sums *summing) (*body, *columnar.Writer, error) {
	before := &past{file: f}
	defer before.close()
	if f.day.AllPast = f.cleanse; old != nil {
		before.on = old.etag
		f.day.Past = func(m *schema.Member) iter.Seq2[fold.Sample, error] { return before.readings(ctx, m.Device) }
	}
	b := f.store.newBody(f.name, parquetFile)
	hash := sha256.New()
	to := io.MultiWriter(hash, writer(func(p []byte) error { return b.write(ctx, p) }))
	f.columns.About = f.about.columns()
	w := columnar.NewWriter(to, f.columns.Clone())
	sums.reset(ctx, f.store)
	var began tables.Ticks
	for one, err := range f.day.Readings(ctx, f.first, f.before, func(at tables.Ticks) { began = at }) {
		if err != nil {
			return nil, nil, err
		}
		if f.columns.Add(&one.Sample) && w != nil {
			if w.Readings > 0 {
				w = nil // go on to find all columns
			} else {
				w = columnar.NewWriter(to, f.columns.Clone())
			}
		}
		if w == nil {
			continue
		}
		if err := w.Write(string(one.Member.Device), f.about.values(one.Member), &one.Sample); err != nil {
			return nil, nil, err
		}
		if err := sums.add(&one); err != nil {
			return nil, nil, err
		}
	}
	if w == nil {
		return nil, nil, nil
	}
	for device, err := range f.day.Watermarks(ctx, f.first, f.before) {
		if err != nil {
			return nil, nil, err
		}
		if !before.taken[device] && old != nil {
			return nil, nil, errTaken
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	rows, readings := strconv.FormatInt(w.Rows, 10), strconv.FormatInt(w.Readings, 10)
	watermark := strconv.FormatInt(int64(began.Add(-f.settle)), 10)
	if f.cleanse {
		watermark = old.metadata[metaWatermark]
	}
	b.metadata = map[string]*string{metaWriter: &b.writer, metaReadings: &readings, metaRows: &rows, metaHash: &sum,
		metaWatermark: &watermark}
	return b, w, sums.close(watermark)
}

// place puts a body on a version; empty: on none. Any failure is ambiguous: it reads the existing object back.
func (b *body) place(ctx context.Context, on azcore.ETag) error {
	var last error
	for try := range tries {
		if last = b.put(ctx, condition(on)); last == nil || refused(last) {
			return last
		}
		found, err := b.look(ctx)
		switch {
		case err != nil:
			last = err // the next try finds out
		case found != nil && found.writer == b.writer:
			return nil // the answer was lost
		case found == nil && on != "" || found != nil && found.etag != on || errors.Is(last, errBlocksGone):
			return errTaken
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("after %d tries: %w", tries, last)
}

// About says which columns about devices the files have: site, and labels.NAME.
type About []string

// check refuses what is no property of a device.
func (a About) check() error {
	for i, name := range a {
		label, is := strings.CutPrefix(name, "labels.")
		if name != "site" && (!is || label == "") {
			return fmt.Errorf("column %s; want site or labels.NAME", tables.Quote(name))
		}
		if slices.Contains(a[:i], name) {
			return fmt.Errorf("column %s occurs twice", tables.Quote(name))
		}
	}
	return nil
}

// columns returns the names of the columns, in letters, digits and underscores: Spark makes no table with a space in a
// name, and a dot would have to be quoted in SQL.
func (a About) columns() (names []string) {
	for _, name := range a {
		names = append(names, strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '_'
		}, name))
	}
	return names
}

func (a About) values(m *schema.Member) (values []string) {
	for _, name := range a {
		if label, is := strings.CutPrefix(name, "labels."); is {
			values = append(values, m.Labels[label])
		} else {
			values = append(values, string(m.Site))
		}
	}
	return values
}

// complete returns the version that exists, or nil if it, or a file of its rollups or reports, is missing.
func (f *dayFile) complete(ctx context.Context) (*version, error) {
	for _, one := range f.summed.names(f.folder, f.number) {
		if found, err := f.store.look(ctx, one.name); err != nil || found == nil {
			return nil, err
		}
	}
	return f.store.look(ctx, f.name)
}
