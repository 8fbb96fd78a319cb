package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"iter"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/report"
	"furrow/tables"
	"furrow/tables/schema"
)

// VerifyDay reads what the tables have of a day, and compares each cell of readings with storage, except of devices
// whose rows retention may have deleted, and rollups and reports with the readings. It returns what is wrong, also
// before an error. A day that is being made again can seem wrong.
func (m *Tables) VerifyDay(ctx context.Context, d TableDay) (wrong []string, err error) {
	v := &dayVerifier{Tables: m, day: d, passed: map[schema.DeviceID]bool{}}
	if err = v.verify(ctx); errors.Is(err, catalog.ErrStale) || errors.Is(err, errDamaged) {
		v.report("%v", err) // a file has gone or is damaged
		err = nil
	}
	return v.wrong, d.wrap(err)
}

type dayVerifier struct {
	*Tables
	day    TableDay
	making *readingsMaking
	sums   *tableSums
	wrong  []string
	found  int64                    // readings of the table, each once
	passed map[schema.DeviceID]bool // that storage has nothing of
}

// mostWrong is how much of a day is named that is wrong.
const mostWrong = 5

func (v *dayVerifier) report(format string, args ...any) {
	if len(v.wrong) == mostWrong {
		format, args = "and more", nil
	}
	if len(v.wrong) <= mostWrong {
		v.wrong = append(v.wrong, fmt.Sprintf("%s, partition %s: ", v.day.When(), v.day.Month)+fmt.Sprintf(format, args...))
	}
}

func (v *dayVerifier) verify(ctx context.Context) (err error) {
	if v.making, err = v.begin(ctx, v.day); err != nil {
		return err
	}
	v.making.passedOver = v.unread
	v.making.replaceAll()
	if v.day.Hour == 0 {
		v.making.replaceShared()
	}
	if slices.MinFunc(v.making.months, schema.Month.Compare) != v.day.Month {
		return nil // files have several partitions: they are read once, with the first
	}
	if err := v.making.past.reset(v.making.gone); err != nil {
		return err
	}
	defer v.making.past.close()
	columns := map[string]bool{}
	for _, f := range v.making.gone {
		for _, c := range f.Columns {
			columns[c] = true
		}
	}
	// Of more sensors than a bucket has, those that come first are in it, and a file may have them in another order.
	whole := v.making.snapshot.Day(v.day.Month).Watermark > 0 && !v.making.unfinished()
	if whole && len(columns) <= fold.MaxSensors {
		v.sums = v.making.sums
		for _, a := range v.sums.all {
			a.check = sha256.New()
			a.groups = map[tables.Ticks]*report.Groups{}
		}
	}
	if err := v.readings(ctx); err != nil || v.sums == nil || len(v.wrong) > 0 {
		return err
	}
	if err := v.sums.close(ctx); err != nil {
		return err
	}
	for _, a := range v.sums.all {
		if err := v.sumsOf(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// readings compares those of the table with storage, device by device.
func (v *dayVerifier) readings(ctx context.Context) error {
	day := v.Stored(v.day)
	day.Beside, day.Others = v.making.months[1:], true
	day.Past = func(m *schema.Member) iter.Seq2[fold.Sample, error] {
		if !day.Gone(m) {
			return nil
		}
		return v.past(ctx, m.Device)
	}
	stored := schema.DeviceID("") // whose rows storage has, and not the table
	day.FromStorage = func(m *schema.Member) { stored = m.Device }
	var table *tableReader
	defer func() { table.close() }()
	member := (*schema.Member)(nil)
	for one, err := range day.Readings(ctx, "", "", func(tables.Ticks) {}) {
		if err != nil {
			return err
		}
		if member == nil || member.Device != one.Member.Device {
			if err := v.rest(table); err != nil {
				return err
			}
			table.close()
			if member = one.Member; member.Device == stored {
				table = newTableReader(v.past(ctx, member.Device))
			} else {
				table = nil
			}
		}
		if table != nil {
			if err := v.compare(table, &one); err != nil {
				return err
			}
		}
		if v.sums != nil {
			if err := v.sums.add(ctx, &one); err != nil {
				return err
			}
		}
	}
	if err := v.rest(table); err != nil {
		return err
	}
	for _, f := range v.making.past.files {
		if err := f.rest(ctx, v.making); err != nil {
			return err
		}
		v.found -= f.read
	}
	if v.found < 0 {
		v.report("%d readings are there twice", -v.found)
	}
	return nil
}

// past yields the readings of a device that the table has.
func (v *dayVerifier) past(ctx context.Context, device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		for sample, err := range v.making.past.readings(ctx, v.making, device) {
			if v.found++; !yield(sample, err) {
				return
			}
		}
	}
}

// unread reports a reading of a file that nobody has asked for.
func (v *dayVerifier) unread(f *pastFile) {
	v.found++
	if device := f.ahead.Device; !v.passed[device] {
		v.passed[device] = true
		v.report("device %s is in file %s, and storage has no readings of it", device, f.Name)
	}
}

// compare compares a reading of storage with the next one of the table.
func (v *dayVerifier) compare(table *tableReader, one *groups.DayReading) error {
	for table.before(one.Sample.Key) {
		v.report("reading %s %s is in no table of storage", one.Member.Device, table.sample.Key)
		table.advance()
	}
	if table.err != nil {
		return table.err
	}
	if !table.more || table.sample.Key != one.Sample.Key {
		v.report("reading %s %s is missing", one.Member.Device, one.Sample.Key)
		return nil
	}
	if got, want := columnar.Cells(&table.sample), columnar.Cells(&one.Sample); got != want {
		v.report("reading %s %s has %s, and storage has %s", one.Member.Device, one.Sample.Key, got, want)
	}
	table.advance()
	return nil
}

// rest reports readings of a device that storage does not have.
func (v *dayVerifier) rest(table *tableReader) error {
	for ; table != nil && table.more && table.err == nil; table.advance() {
		v.report("reading %s is in no table of storage", table.sample.Key)
	}
	if table == nil {
		return nil
	}
	return table.err
}

// sumsOf compares the rows of a table of rollups or reports with those that its readings make.
func (v *dayVerifier) sumsOf(ctx context.Context, a *sumTable) error {
	found := sha256.New()
	files := slices.SortedFunc(slices.Values(a.gone), func(x, y catalog.File) int {
		return bytes.Compare([]byte(x.Stats.Ranges[columnar.Device].Min), []byte(y.Stats.Ranges[columnar.Device].Min))
	})
	for _, f := range files {
		content, _, err := v.Store.Get(ctx, a.table.Path(&f))
		if err != nil {
			return err
		}
		err = columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
			hashRow(found, row[:len(sumColumns(a.kind))-1])
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s, file %s: %w", a.table.Name, f.Name, damaged(err))
		}
	}
	if !bytes.Equal(found.Sum(nil), a.check.Sum(nil)) {
		v.report("its %s are not those of its readings", a.table.Name)
	}
	return nil
}

// hashRow adds a row to a hash, whether it is about to be written or was read.
func hashRow(h hash.Hash, row []any) {
	for _, cell := range row {
		switch c := cell.(type) {
		case tables.Ticks:
			cell = c.Time().UnixMicro()
		case nil:
			cell = ""
		}
		fmt.Fprintf(h, "%v\n", cell)
	}
}

// A tableReader reads the readings of a device that the table has.
type tableReader struct {
	next   func() (fold.Sample, error, bool)
	stop   func()
	sample fold.Sample
	err    error
	more   bool
}

func newTableReader(all iter.Seq2[fold.Sample, error]) *tableReader {
	r := &tableReader{}
	r.next, r.stop = iter.Pull2(all)
	r.advance()
	return r
}

func (r *tableReader) advance() { r.sample, r.err, r.more = r.next() }

// before reports whether the reading comes before a key.
func (r *tableReader) before(key schema.RowKey) bool {
	return r.more && r.err == nil && r.sample.Key.Compare(key) < 0
}

func (r *tableReader) close() {
	if r != nil {
		r.stop()
	}
}
